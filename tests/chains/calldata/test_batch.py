"""Batches against an independent ABI encoder, what they take, and what is refused."""

import random
from decimal import Decimal

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import DEAD_ADDRESS, ZERO_ADDRESS, tron_address_of, tron_to_evm
from chalicelib.base.money import MAX_UINT256, fee_of, parse_amount
from chalicelib.chains.calldata.batch import (
    BatchItem,
    batch_fee,
    batch_fee_of,
    native_hash,
    pay_batch,
    pay_tron_batch,
    token_debits,
)
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import address_of
from tests.support.rehearsed import parts

USDC, DAI = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb"
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
FEE_ADDRESS = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
REFERENCE = bytes.fromhex("11497d24d1a76c9b")
ETH_ON_BASE = "0x" + keccak(text='{"type":"eth","value":"eth-base"}')[-20:].hex()
DETAILS = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"

addresses = st.binary(min_size=20, max_size=20).filter(any).map(lambda raw: "0x" + raw.hex())
amounts = st.integers(0, MAX_UINT256)
references = st.binary(min_size=8, max_size=8)


def items(tokens: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[BatchItem]]:
    one = st.builds(BatchItem, tokens, addresses, amounts, references, amounts)
    return st.lists(one, min_size=1, max_size=6).filter(lambda each: any(item.fee_amount for item in each))


def details(batch: list[BatchItem]) -> list[object]:
    return [
        (item.payee, item.amount, [item.token or ETH_ON_BASE], item.reference, item.fee_amount, 0, 0) for item in batch
    ]


def selector(signature: str) -> str:
    return "0x" + keccak(text=signature)[:4].hex()


@settings(max_examples=40)
@given(batch=items(st.just(USDC)), collector=addresses)
def test_a_batch_of_one_token_equals_the_encoding_of_an_abi_library(batch: list[BatchItem], collector: str) -> None:
    built = pay_batch("base", batch, collector)
    arguments = encode([DETAILS, "address[][]", "address"], [details(batch), [], collector])
    assert built.data == selector(f"batchERC20Payments({DETAILS},address[][],address)") + arguments.hex()
    assert (built.to, built.value) == (address_of("BatchConversionPayments", "base"), 0)


@settings(max_examples=60)
@given(batch=items(st.sampled_from([None, USDC, DAI])), collector=addresses)
def test_a_batch_of_several_currencies_equals_the_encoding_of_an_abi_library(
    batch: list[BatchItem], collector: str
) -> None:
    batch = [*batch, BatchItem(None, PAYEE, 5, REFERENCE)]
    tokens, native = [item for item in batch if item.token], [item for item in batch if item.token is None]
    groups = [(number, details(group)) for number, group in ((2, tokens), (3, native)) if group]
    built = pay_batch("base", batch, collector)
    arguments = encode([f"(uint256,{DETAILS})[]", "address[][]", "address"], [groups, [], collector])
    assert built.data == selector(f"batchPayments((uint256,{DETAILS})[],address[][],address)") + arguments.hex()
    assert built.value == sum(item.amount + item.fee_amount for item in native)


@settings(max_examples=40)
@given(batch=items(st.just("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")), collector=addresses)
def test_a_batch_on_tron_equals_the_encoding_of_an_abi_library(batch: list[BatchItem], collector: str) -> None:
    built = pay_tron_batch("tron", batch, tron_address_of(bytes.fromhex(collector[2:])))
    arguments = encode(
        ["address", "address[]", "uint256[]", "bytes[]", "uint256[]", "address"],
        [
            tron_to_evm("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
            [item.payee for item in batch],
            [item.amount for item in batch],
            [item.reference for item in batch],
            [item.fee_amount for item in batch],
            collector,
        ],
    )
    signature = "batchERC20PaymentsWithReference(address,address[],uint256[],bytes[],uint256[],address)"
    assert built.data == selector(signature) + arguments.hex()
    assert (built.to, built.value) == (address_of("ERC20BatchPayments", "tron"), 0)


def test_two_spellings_of_a_token_are_one_token() -> None:
    batch = [BatchItem(USDC, PAYEE, 10_000, REFERENCE), BatchItem(USDC.lower(), PAYEE, 2, REFERENCE)]
    assert pay_batch("base", batch).data.startswith("0x9af8a581")
    assert token_debits(batch) == {USDC: 10_002}


def test_without_a_fee_nobody_is_named_and_never_the_zero_address() -> None:
    batch = [BatchItem(USDC, PAYEE, 1, REFERENCE)]
    word = DEAD_ADDRESS[2:].lower().zfill(64)
    for fee_address in (None, ZERO_ADDRESS, FEE_ADDRESS):
        assert pay_batch("base", batch, fee_address).data[10 + 2 * 64 :].startswith(word)
    tron = [BatchItem("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", PAYEE, 1, REFERENCE)]
    for fee_address in (None, ZERO_ADDRESS, FEE_ADDRESS):
        assert pay_tron_batch("tron", tron, fee_address).data[10 + 5 * 64 :].startswith(word)


def test_the_contracts_own_fee_goes_to_the_fee_address_when_there_is_one() -> None:
    batch = [BatchItem(None, PAYEE, 1, REFERENCE)]
    assert FEE_ADDRESS[2:].lower() in pay_batch("base", batch, FEE_ADDRESS, batch_fee_bps=30).data
    assert DEAD_ADDRESS[2:].lower() in pay_batch("base", batch, None, batch_fee_bps=30).data


@pytest.mark.parametrize("collector", [None, ZERO_ADDRESS])
def test_a_fee_is_never_sent_to_the_zero_address(collector: str | None) -> None:
    batch = [BatchItem(USDC, PAYEE, 1, REFERENCE, 0), BatchItem(USDC, PAYEE, 1, REFERENCE, 1)]
    with pytest.raises(ValueError, match="a fee needs the address"):
        pay_batch("base", batch, collector)
    with pytest.raises(ValueError, match="a fee needs the address"):
        pay_tron_batch("tron", batch, collector)


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="needs payments"):
        pay_batch("base", [])
    with pytest.raises(ValueError, match="needs payments"):
        pay_tron_batch("tron", [])


@pytest.mark.parametrize("others", [[None], [DAI], [None, None]])
def test_a_batch_on_tron_pays_one_token(others: list[str | None]) -> None:
    tokens = [USDC, *others] if len(others) == 1 else others
    with pytest.raises(ValueError, match="one TRC-20 token"):
        pay_tron_batch("tron", [BatchItem(token, PAYEE, 1, REFERENCE) for token in tokens])


def test_a_batch_is_refused_where_its_contract_is_not() -> None:
    batch = [BatchItem(USDC, PAYEE, 1, REFERENCE)]
    with pytest.raises(LookupError):
        pay_batch("tron", batch)
    with pytest.raises(LookupError):
        pay_tron_batch("base", batch)


@pytest.mark.parametrize("network", ["tron", "gnosis"])
def test_a_network_without_a_listed_coin_has_no_hash_of_it(network: str) -> None:
    with pytest.raises(LookupError, match=f"{network} has no native currency"):
        native_hash(network)


def test_a_reference_of_another_length_and_an_amount_that_is_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="8 bytes"):
        pay_batch("base", [BatchItem(USDC, PAYEE, 1, b"short")])
    with pytest.raises(OverflowError):
        pay_batch("base", [BatchItem(USDC, PAYEE, MAX_UINT256 + 1, REFERENCE)])


def test_the_fee_of_the_contract_is_asked_of_the_contract() -> None:
    batch = address_of("BatchConversionPayments", "base")
    assert batch_fee_of("base") == Call(batch, selector("batchFee()"))


def test_the_fee_of_the_contract_is_rounded_down_once_for_each_token() -> None:
    batch = [BatchItem(USDC, PAYEE, 199, REFERENCE, 7), BatchItem(USDC, PAYEE, 199, REFERENCE)]
    assert batch_fee(398, 30) == 1
    assert token_debits([*batch, BatchItem(None, PAYEE, 333, REFERENCE)], 30) == {USDC: 398 + 7 + 1, None: 333}
    assert pay_batch("base", [BatchItem(None, PAYEE, 334, REFERENCE, 2)], FEE_ADDRESS, 30).value == 334 + 2 + 1


@pytest.mark.parametrize("part", parts(5))
def test_parts_and_fees_are_the_debit_and_what_the_bytes_move_in_any_batch(part: int) -> None:
    """2,000 of them."""
    chance = random.Random(part)
    people = [f"0x{number:040x}" for number in range(10**6, 10**6 + 20)]
    tokens = {f"0x{decimals + 1:038x}ff": decimals for decimals in range(19)}
    for _ in range(400):
        bps = chance.choice((0, 0, 30, 200))
        percentage = Decimal(chance.randrange(0, 10_000_001)).scaleb(-5)
        batch = []
        for token in chance.sample([*tokens, None], chance.randrange(1, 4)):
            decimals = 18 if token is None else tokens[token]
            for _ in range(chance.randrange(1, 3)):
                fraction = f".{chance.randrange(10**decimals):0{decimals}d}" if decimals else ""
                amount = parse_amount(f"{chance.randrange(1, 10 ** chance.randrange(1, 13))}{fraction}", decimals)
                batch.append(
                    BatchItem(token, chance.choice(people), amount, chance.randbytes(8), fee_of(amount, percentage))
                )
        debits = token_debits(batch, bps)
        transaction = pay_batch("base", batch, FEE_ADDRESS, bps)
        approvals = [approve(token, transaction.to, debit) for token, debit in debits.items() if token is not None]
        *approved, paid = explain("base", [*approvals, transaction])
        moved: dict[str | None, list[int]] = {}
        for call in paid.calls:
            assert call.expected_event
            event = call.expected_event
            amounts = moved.setdefault(event.token and event.token.lower(), [0, 0])
            amounts[0] += event.amount
            amounts[1] += event.fee_amount
        taken = {token: amount + fee + amount * bps // 10_000 for token, (amount, fee) in moved.items()}
        assert taken == debits
        allowed = {each.to and each.to.lower(): int(each.arguments[1].value) for each in approved}
        assert {**allowed, **({None: transaction.value} if None in debits else {})} == debits
