"""Conversion payments, single and in batches, against npm payment-processor and an ABI library; what is refused."""

from dataclasses import replace

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.batch import BatchItem, pay_batch, pay_tron_batch, token_debits
from chalicelib.chains.calldata.conversions.proxy import (
    Conversion,
    ConvertedPayment,
    pay_erc20_converted,
    pay_native_converted,
)
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.conversions import on_chain_units
from chalicelib.chains.catalogue.tokens import token_with_id
from tests.chains.calldata.payment_builder import FEE_ADDRESS, Item, items
from tests.oracles.node import ask_builder

USD, USDC = "0x775eb53d00dd0acd3ec1696472105d579b9b386b", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
ETH = "0xf5af88e117747e87fc5929f2ff87221b1447652e"
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
CONVERSION = Conversion((USD, USDC), 13_000_000, 3600)
PAYMENT = ConvertedPayment(PAYEE, 1_250_000_000, b"\x01" * 8, CONVERSION, 13_000_000, FEE_ADDRESS)


def selector(signature: str) -> str:
    return "0x" + keccak(text=signature)[:4].hex()


def built(item: Item) -> Transaction:
    pay = pay_native_converted if item.payment.is_native else pay_erc20_converted
    return pay(item.payment.network, item.converted())


def batch_item(item: Item) -> BatchItem:
    token = None if item.payment.is_native else item.payment.address
    if item.invoice is None:
        return BatchItem(token, item.payee, item.amount, item.reference, item.fee)
    amount, fee = on_chain_units(item.invoice, item.amount), on_chain_units(item.invoice, item.fee)
    return BatchItem(token, item.payee, amount, item.reference, fee, item.conversion)


@settings(max_examples=20, deadline=None)
@given(st.lists(items(), min_size=10, max_size=20))
def test_a_payment_is_the_one_that_payment_processor_builds(some: list[Item]) -> None:
    questions = [{"ask": "native" if item.payment.is_native else "erc20", "item": item.asked()} for item in some]
    for item, theirs in zip(some, ask_builder(questions), strict=True):
        ours = built(item)
        assert (ours.to, ours.data, str(ours.value)) == (theirs["to"], theirs["data"], theirs["value"])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["mainnet", "matic"]).flatmap(
        lambda network: st.tuples(
            st.lists(items(network), min_size=1, max_size=6), st.lists(items(network, converted=False), max_size=6)
        )
    )
)
def test_a_batch_is_the_one_that_payment_processor_builds(some: tuple[list[Item], list[Item]]) -> None:
    """Ours carries the fees of native payments in its value, which theirs leaves out, so that it would revert."""
    together = [*some[0], *some[1]]
    (theirs,) = ask_builder([{"ask": "batch", "items": [item.asked() for item in together]}])
    ours = pay_batch(together[0].payment.network, [batch_item(item) for item in together], FEE_ADDRESS)
    assert (ours.to, ours.data) == (theirs["to"], theirs["data"])
    natives = [item for item in together if item.payment.is_native]
    assert ours.value == sum(item.max_to_spend if item.invoice else item.amount + item.fee for item in natives)


def test_a_payment_equals_the_encoding_of_an_abi_library() -> None:
    head = [PAYEE, 1_250_000_000, [USD, USDC], b"\x01" * 8, 13_000_000, FEE_ADDRESS]
    types = ["address", "uint256", "address[]", "bytes", "uint256", "address", "uint256", "uint256"]
    signature = f"transferFromWithReferenceAndFee({','.join(types)})"
    ours = pay_erc20_converted("mainnet", PAYMENT)
    assert ours.data == selector(signature) + encode(types, [*head, 13_000_000, 3600]).hex()
    assert (ours.to, ours.value) == (address_of("Erc20ConversionProxy", "mainnet"), 0)

    signature = f"transferWithReferenceAndFee({','.join(types[:-1])})"
    head[2] = [USD, ETH]
    ours = pay_native_converted("mainnet", replace(PAYMENT, conversion=Conversion((USD, ETH), 5 * 10**15, 3600)))
    assert ours.data == selector(signature) + encode(types[:-1], [*head, 3600]).hex()
    assert (ours.to, ours.value) == (address_of("EthConversionProxy", "mainnet"), 5 * 10**15)


def test_without_a_fee_the_zero_address_is_named() -> None:
    without = replace(PAYMENT, fee_amount=0)
    assert pay_erc20_converted("mainnet", without) == pay_erc20_converted("mainnet", replace(without, fee_address=None))


@pytest.mark.parametrize("collector", [None, ZERO_ADDRESS])
def test_a_fee_is_never_sent_to_the_zero_address(collector: str | None) -> None:
    for pay in (pay_erc20_converted, pay_native_converted):
        with pytest.raises(ValueError, match="a fee needs the address"):
            pay("mainnet", replace(PAYMENT, fee_address=collector))


@pytest.mark.parametrize(
    ("path", "most", "age", "message"),
    [
        ((USDC,), 1, 1, "at least two currencies"),
        ((), 1, 1, "at least two currencies"),
        ((USD, USDC), 0, 1, "a limit of what is spent and of the age"),
        ((USD, USDC), 1, 0, "a limit of what is spent and of the age"),  # the contracts would accept a rate of any age
        ((USD, USDC), -1, 1, "a limit of what is spent and of the age"),
    ],
)
def test_a_conversion_without_limits_or_without_a_path_is_refused(
    path: tuple[str, ...], most: int, age: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Conversion(path, most, age)


def test_where_no_contract_converts_there_is_no_payment() -> None:
    for pay, contract in ((pay_erc20_converted, "Erc20ConversionProxy"), (pay_native_converted, "EthConversionProxy")):
        with pytest.raises(LookupError, match=f"{contract} is not deployed on base"):
            pay("base", PAYMENT)


def test_a_batch_refuses_a_path_that_ends_with_another_currency_than_its_item() -> None:
    for token in (USD, None):
        with pytest.raises(ValueError, match="ends with another currency"):
            pay_batch("mainnet", [BatchItem(token, PAYEE, 1, b"\x01" * 8, conversion=CONVERSION)])


def test_nothing_is_converted_on_tron() -> None:
    usdt = token_with_id("USDT-tron")
    assert usdt is not None
    with pytest.raises(ValueError, match="pays one TRC-20 token"):
        pay_tron_batch("tron", [BatchItem(usdt.address, PAYEE, 1, b"\x01" * 8, conversion=CONVERSION)])


def test_a_batch_takes_the_most_that_its_conversions_may_spend() -> None:
    """The contract takes its own fee from what was spent; the debit allows for the most."""
    converted = BatchItem(USDC, PAYEE, 1_250_000_000, b"\x01" * 8, 13_000_000, CONVERSION)
    plain = BatchItem(USDC, PAYEE, 5_000_000, b"\x02" * 8, 50_000)
    assert token_debits([converted]) == {USDC: 13_000_000}
    assert token_debits([converted, plain], 30) == {USDC: 13_000_000 + 5_050_000 + 54_000}
    native = BatchItem(None, PAYEE, 1_250_000_000, b"\x03" * 8, 0, Conversion((USD, ETH), 5 * 10**15, 60))
    assert pay_batch("mainnet", [native, converted], FEE_ADDRESS, 30).value == 5 * 10**15 + 15 * 10**12


def test_even_a_batch_of_one_token_has_groups_if_it_is_converted() -> None:
    item = BatchItem(USDC, PAYEE, 1_250_000_000, b"\x01" * 8, 0, CONVERSION)
    assert pay_batch("mainnet", [item]).data.startswith("0x92cddb91")
