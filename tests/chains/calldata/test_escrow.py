"""The terms, hashes, calls and signatures of commerce payments against eth_abi and eth_account."""

from collections.abc import Callable
from dataclasses import astuple, fields, replace
from typing import Any

import pytest
from eth_abi import decode, encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.money import MAX_UINT256
from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import (
    INFO_BYTES,
    MEMBERS,
    PaymentInfo,
    decode_info,
    encode_info,
    payer_agnostic_hash,
    payment_hash,
)
from chalicelib.chains.calldata.escrow.signatures import (
    erc3009_domain,
    erc3009_reads,
    erc3009_typed_data,
    permit2_typed_data,
)
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.escrows import EscrowContracts

from .calls import COLLECTOR, ESCROW, INFO, PAYEE, USDC, WALLET, unquoted

INFO_TYPE = f"({','.join(kind for _, kind in MEMBERS)})"
STRUCT = (
    "PaymentInfo(address operator,address payer,address receiver,address token,uint120 maxAmount,"
    "uint48 preApprovalExpiry,uint48 authorizationExpiry,uint48 refundExpiry,uint16 minFeeBps,uint16 maxFeeBps,"
    "address feeReceiver,uint256 salt)"
)
DOMAIN = TokenDomain(USDC, "USD Coin", "2", 8453)
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
infos = st.builds(
    PaymentInfo,
    *(addresses,) * 4,
    st.integers(0, 2**120 - 1),
    *(st.integers(0, 2**48 - 1),) * 3,
    *(st.integers(0, 2**16 - 1),) * 2,
    addresses,
    st.integers(0, MAX_UINT256),
)
contracts = st.builds(EscrowContracts, st.sampled_from(["base", "sepolia"]), *(addresses,) * 5)
amounts, fees = st.integers(0, MAX_UINT256), st.builds(CaptureFee, st.integers(0, 2**16 - 1), addresses)
collections = st.builds(Collection, addresses, st.binary(max_size=200))


# --- hashes ---


@given(infos, contracts)
def test_a_payment_is_named_as_the_contract_names_it(info: PaymentInfo, contracts: EscrowContracts) -> None:
    terms = keccak(encode(["bytes32", INFO_TYPE], [keccak(text=STRUCT), astuple(info)]))
    named = keccak(encode(["uint256", "address", "bytes32"], [contracts.chain_id, contracts.escrow, terms]))
    assert payment_hash(info, contracts) == "0x" + named.hex()


def test_the_hash_covers_every_term_the_chain_and_the_escrow() -> None:
    others = [replace(INFO, **{each.name: other_value(getattr(INFO, each.name))}) for each in fields(INFO)]
    elsewhere = [replace(ESCROW, network="sepolia"), replace(ESCROW, escrow=PAYEE)]
    names = [payment_hash(each, ESCROW) for each in (INFO, *others)] + [payment_hash(INFO, each) for each in elsewhere]
    assert len(set(names)) == len(names) == 15


def other_value(value: Any) -> Any:
    return (
        COLLECTOR if value != COLLECTOR and isinstance(value, str) else WALLET if isinstance(value, str) else value + 1
    )


def test_a_payer_signs_the_hash_that_is_the_same_for_all_payers() -> None:
    assert payer_agnostic_hash(INFO, ESCROW) == payer_agnostic_hash(replace(INFO, payer=PAYEE), ESCROW)
    assert payer_agnostic_hash(INFO, ESCROW) == payment_hash(replace(INFO, payer=ZERO_ADDRESS), ESCROW)
    assert payer_agnostic_hash(INFO, ESCROW) != payer_agnostic_hash(replace(INFO, receiver=WALLET), ESCROW)


# --- the terms as bytes ---


@given(infos, st.binary(max_size=64))
def test_terms_are_encoded_as_eth_abi_does_and_read_again(info: PaymentInfo, rest: bytes) -> None:
    assert encode_info(info) == encode([INFO_TYPE], [astuple(info)])
    assert decode_info(encode_info(info) + rest) == info


@pytest.mark.parametrize("member", range(len(MEMBERS) - 1), ids=[name for name, _ in MEMBERS[:-1]])
def test_a_word_that_is_not_of_its_type_is_no_term(member: int) -> None:
    data = bytearray(encode_info(INFO))
    data[32 * member] = 1
    with pytest.raises(ValueError, match="not the terms of a payment"):
        decode_info(bytes(data))


@pytest.mark.parametrize("length", [0, 31, 32, INFO_BYTES - 1])
def test_terms_that_are_cut_short_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match="not the terms of a payment"):
        decode_info(encode_info(INFO)[:length])


@pytest.mark.parametrize(
    "change",
    [{"max_amount": 2**120}, {"refund_expiry": 2**48}, {"max_fee_bps": 2**16}, {"salt": 2**256}, {"max_amount": -1}],
    ids=str,
)
def test_a_number_that_its_type_cannot_hold_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(OverflowError):
        escrow_calls.void(replace(INFO, **change), ESCROW)


# --- calls ---


def check(transaction: Transaction, to: str, signature: str, *values: Any) -> None:
    """`signature` has INFO in the place of the terms."""
    written = signature.replace("INFO", INFO_TYPE)
    assert (transaction.to, transaction.value) == (to, 0)
    data = bytes.fromhex(transaction.data[2:])
    assert data[:4] == keccak(text=written)[:4]
    kinds = [INFO_TYPE if each == "INFO" else each for each in signature.partition("(")[2][:-1].split(",")]
    assert data[4:] == encode(kinds, values)
    assert len(decode(kinds, data[4:])) == len(values)


@given(infos, contracts, amounts, collections, fees)
def test_calls_are_encoded_as_eth_abi_does(
    info: PaymentInfo, contracts: EscrowContracts, amount: int, taken_by: Collection, fee: CaptureFee
) -> None:
    escrow, terms, taken = contracts.escrow, astuple(info), (taken_by.collector, taken_by.data)
    approval, pre_approval = escrow_calls.pre_approve(info, contracts)
    check(approval, info.token, "approve(address,uint256)", contracts.pre_approval, info.max_amount)
    check(pre_approval, contracts.pre_approval, "preApprove(INFO)", terms)
    authorized = escrow_calls.authorize(info, contracts, amount, taken_by)
    check(authorized, escrow, "authorize(INFO,uint256,address,bytes)", terms, amount, *taken)
    charged = escrow_calls.charge(info, contracts, amount, taken_by, fee)
    charge = "charge(INFO,uint256,address,bytes,uint16,address)"
    check(charged, escrow, charge, terms, amount, *taken, fee.bps, fee.receiver)
    captured = escrow_calls.capture(info, contracts, amount, fee)
    check(captured, escrow, "capture(INFO,uint256,uint16,address)", terms, amount, fee.bps, fee.receiver)
    check(escrow_calls.void(info, contracts), escrow, "void(INFO)", terms)
    check(escrow_calls.reclaim(info, contracts), escrow, "reclaim(INFO)", terms)
    refunded = escrow_calls.refund(info, contracts, amount)
    check(refunded, escrow, "refund(INFO,uint256,address,bytes)", terms, amount, contracts.operator_refund, b"")


def test_a_fee_above_the_largest_uint16_is_refused() -> None:
    with pytest.raises(OverflowError):
        escrow_calls.capture(INFO, ESCROW, 1, CaptureFee(2**16, COLLECTOR))


# --- signatures ---


def digest_of(typed: dict[str, Any]) -> bytes:
    encoded = encode_typed_data(typed["domain"], typed["types"], unquoted(typed["values"]))
    return keccak(b"\x19\x01" + encoded.header + encoded.body)


def test_an_erc3009_transfer_to_the_collector_is_signed_for_the_token_until_the_pre_approval_expires() -> None:
    typed = erc3009_typed_data(INFO, ESCROW, DOMAIN)
    assert typed["domain"] == {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": USDC}
    assert typed["values"] == {
        "from": WALLET,
        "to": "0x0E3dF9510de65469C4518D7843919c0b8C7A7757",
        "value": "1000000",
        "validAfter": "0",
        "validBefore": "1800000000",
        "nonce": payer_agnostic_hash(INFO, ESCROW),
    }
    struct = keccak(
        encode(
            ["bytes32", "address", "address", "uint256", "uint256", "uint256", "bytes32"],
            [
                bytes.fromhex("d099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8"),
                WALLET,
                ESCROW.erc3009,
                1_000_000,
                0,
                1_800_000_000,
                bytes.fromhex(payer_agnostic_hash(INFO, ESCROW)[2:]),
            ],
        )
    )
    assert digest_of(typed) == keccak(b"\x19\x01" + separator() + struct)


def test_a_permit2_transfer_is_signed_for_the_collector_until_the_pre_approval_expires() -> None:
    typed = permit2_typed_data(INFO, ESCROW)
    assert typed["values"] == {
        "permitted": {"token": USDC, "amount": "1000000"},
        "spender": "0x992476B9Ee81d52a5BdA0622C333938D0Af0aB26",
        "nonce": str(int(payer_agnostic_hash(INFO, ESCROW), 16)),
        "deadline": "1800000000",
    }
    permissions = keccak(text="TokenPermissions(address token,uint256 amount)")
    transfer = keccak(
        text="PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)"
        "TokenPermissions(address token,uint256 amount)"
    )
    permitted = keccak(encode(["bytes32", "address", "uint256"], [permissions, USDC, 1_000_000]))
    nonce = int(payer_agnostic_hash(INFO, ESCROW), 16)
    kinds = ["bytes32", "bytes32", "address", "uint256", "uint256"]
    struct = keccak(encode(kinds, [transfer, permitted, ESCROW.permit2, nonce, 1_800_000_000]))
    domain = keccak(text="EIP712Domain(string name,uint256 chainId,address verifyingContract)")
    permit2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
    separated = keccak(
        encode(["bytes32", "bytes32", "uint256", "address"], [domain, keccak(text="Permit2"), 8453, permit2])
    )
    assert digest_of(typed) == keccak(b"\x19\x01" + separated + struct)


@pytest.mark.parametrize(
    "typed_data",
    [lambda info: erc3009_typed_data(info, ESCROW, DOMAIN), lambda info: permit2_typed_data(info, ESCROW)],
    ids=["erc3009", "permit2"],
)
def test_a_signature_holds_for_these_terms_alone(typed_data: Callable[[PaymentInfo], dict[str, Any]]) -> None:
    wallet = Account.from_key("0x" + "ab" * 32)
    info = replace(INFO, payer=wallet.address)
    typed = typed_data(info)
    signed = wallet.sign_typed_data(typed["domain"], typed["types"], unquoted(typed["values"]))
    assert recover_digest(digest_of(typed), bytes(signed.signature)) == wallet.address
    for each in fields(info):
        if each.name != "payer":
            other = replace(info, **{each.name: other_value(getattr(info, each.name))})
            assert recover_digest(digest_of(typed_data(other)), bytes(signed.signature)) != wallet.address


# --- what tokens answer ---


def text(value: str) -> bytes:
    return encode(["string"], [value])


def separator() -> bytes:
    domain = keccak(text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
    kinds = ["bytes32", "bytes32", "bytes32", "uint256", "address"]
    return keccak(encode(kinds, [domain, keccak(text="USD Coin"), keccak(text="2"), 8453, USDC]))


def test_the_domain_is_the_one_that_the_token_computes() -> None:
    answers = (text("USD Coin"), text("2"), separator(), bytes(32))
    assert erc3009_domain(answers, INFO, ESCROW) == DOMAIN
    assert [each.data[:10] for each in erc3009_reads(INFO, ESCROW)] == [
        "0x06fdde03",
        "0x54fd4d50",
        "0x3644e515",
        "0xe94a0102",
    ]
    assert erc3009_reads(INFO, ESCROW)[3].data[10:] == (
        encode(["address", "bytes32"], [WALLET, bytes.fromhex(payer_agnostic_hash(INFO, ESCROW)[2:])]).hex()
    )


@pytest.mark.parametrize(
    ("place", "answer"),
    [
        (0, None),
        (0, text("USDC")),
        (0, b"\xff" * 96),
        (1, text("1")),
        (1, None),
        (2, None),
        (2, bytes(32)),
        (3, None),
        (3, b""),
        (3, (1).to_bytes(32, "big")),
    ],
)
def test_a_token_that_answers_otherwise_has_no_transfers_to_sign(place: int, answer: bytes | None) -> None:
    answers: list[bytes | None] = [text("USD Coin"), text("2"), separator(), bytes(32)]
    answers[place] = answer
    assert erc3009_domain(tuple(answers), INFO, ESCROW) is None
