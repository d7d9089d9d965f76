"""Permits of payments and of tokens against eth_account and eth_abi."""

import json
from dataclasses import replace
from typing import Any

import pytest
from eth_abi import decode, encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import evm_address
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.tokens import erc2612, permit2
from chalicelib.chains.calldata.tokens.erc2612 import TokenPermit
from chalicelib.chains.calldata.tokens.permit2 import End, PaymentPermit, take, typed_data

USDC = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
ACCOUNT, PAYEE = "0xb07D2398d2004378cad234DA0EF14f1c94A530e4", "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
SPENDER, PERMIT2 = "0x4B1d5b0aF5AbAe333C8d2CCa2a346e0D5f68C427", "0x000000000022D473030F116dDEE9F6B43aC78BA3"
OPERATION = "0x6ab1463ead4ba60b8e08155b29ea2b3c91731e78be09b6e12b6c25414d724dd0"
PERMIT = PaymentPermit(
    network="arbitrum-one",
    source=End(ACCOUNT, 42161, USDC),
    destination=End(PAYEE, 8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    net=1_998_000,
    fee=2_000,
    spender=SPENDER,
    nonce=1742202173708,
    deadline=1742205771,
    processing_date=1742220173,
    operator_id=OPERATION,
)
"""The published example, with one operator."""
TOKEN_PERMIT = TokenPermit(USDC, "USD Coin", "2", 42161, ACCOUNT, PERMIT2, 1, 1742205771)
TAKE = [
    "((address,uint256)[],uint256,uint256)", "(address,uint256)[]", "address", "bytes32", "string", "bytes"
]
SEPARATOR = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
uints = st.integers(0, 2**128 - 1)
ends = st.builds(End, addresses, uints, addresses)
permits = st.builds(
    PaymentPermit,
    network=st.just("base"),
    source=ends,
    destination=ends,
    net=uints,
    fee=uints,
    spender=addresses,
    nonce=uints,
    deadline=uints,
    processing_date=uints,
    operator_id=st.binary(min_size=32, max_size=32).map(lambda raw: "0x" + raw.hex()),
)


def signable(typed: dict[str, Any], primary: str) -> Any:
    """The typed data for eth_account, which wants numbers as numbers."""

    def number(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: number(each) for name, each in value.items()}
        if isinstance(value, list):
            return [number(each) for each in value]
        return int(value) if isinstance(value, str) and not value.startswith("0x") else value

    return encode_typed_data(typed["domain"], typed["types"], number(typed["values"]))


def test_a_payer_signs_the_published_form() -> None:
    typed = typed_data(PERMIT)
    assert typed["domain"] == {"name": "Permit2", "chainId": 42161, "verifyingContract": PERMIT2}
    assert list(typed["types"]) == [
        "PermitBatchWitnessTransferFrom", "TokenPermissions", "PaymentIntent", "OperatorData", "Domain"
    ]
    assert typed["values"] == {
        "permitted": [{"token": USDC, "amount": amount} for amount in ("1998000", "0", "2000")],
        "spender": SPENDER,
        "nonce": "1742202173708",
        "deadline": "1742205771",
        "witness": {
            "payment_type": 0,
            "operator_data": {
                "operatorId": OPERATION, "operator": SPENDER, "treasury_account": SPENDER, "fee": "0"
            },
            "amount": "2000000",
            "source": {"account": ACCOUNT, "network_id": "42161", "payment_token": USDC},
            "destination": {
                "account": PAYEE, "network_id": "8453", "payment_token": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
            },
            "processing_date": "1742220173",
            "expires_at": "1742205771",
        },
    }
    json.dumps(typed)


@given(permits, st.data())
def test_the_call_has_the_hash_of_the_witness_and_at_most_what_was_signed(permit: PaymentPermit, data: Any) -> None:
    amount = data.draw(st.integers(0, permit.most))
    signature = data.draw(st.binary(max_size=200))
    made = take(permit, amount, signature)
    assert (made.to, made.value) == (PERMIT2, 0)
    raw = bytes.fromhex(made.data[2:])
    assert raw[:4] == keccak(text=f"permitWitnessTransferFrom({','.join(TAKE)})")[:4]
    (batch, transfers, owner, witness, kind, signed) = decode(TAKE, raw[4:])
    assert raw[4:] == encode(TAKE, [batch, transfers, owner, witness, kind, signed])
    permitted, nonce, deadline = batch
    assert [each for _, each in permitted] == [permit.net, 0, permit.fee]
    assert (nonce, deadline, evm_address(owner), signed) == (
        permit.nonce, permit.deadline, permit.source.account, signature
    )
    assert {evm_address(to) for to, _ in transfers} == {permit.spender}
    assert sum(each for _, each in transfers) == amount
    assert all(one <= most for (_, one), (_, most) in zip(transfers, permitted, strict=True))
    # the digest by the contract's own formula is the one that eth_account signs
    head = "PermitBatchWitnessTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline,"
    tokens = [
        keccak(encode(["bytes32", "address", "uint256"], [keccak(text=_TOKEN_PERMISSIONS), *each]))
        for each in permitted
    ]
    types = ["bytes32", "bytes32", "address", "uint256", "uint256", "bytes32"]
    values = [keccak(text=head + kind), keccak(b"".join(tokens)), permit.spender, nonce, deadline, witness]
    encoded = signable(typed_data(permit), "PermitBatchWitnessTransferFrom")
    assert encoded.body == keccak(encode(types, values))


_TOKEN_PERMISSIONS = "TokenPermissions(address token,uint256 amount)"


def test_more_than_was_signed_is_not_taken() -> None:
    with pytest.raises(ValueError, match="more than the payer has signed"):
        take(PERMIT, 2_000_001, b"")


def answers(permit: TokenPermit, **changed: bytes | None) -> tuple[bytes | None, ...]:
    domain = [keccak(text=SEPARATOR), keccak(text="USD Coin"), keccak(text="2"), permit.chain_id, permit.token]
    separator = keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], domain))
    known = {
        "name": encode(["string"], ["USD Coin"]),
        "version": encode(["string"], ["2"]),
        "separator": separator,
        "nonce": encode(["uint256"], [1]),
    }
    return tuple({**known, **changed}.values())


def test_a_tokens_permit_is_built_from_what_the_token_says() -> None:
    found = erc2612.permit_of(answers(TOKEN_PERMIT), USDC, 42161, ACCOUNT, PERMIT2, 1742205771)
    assert found == TOKEN_PERMIT
    typed = erc2612.typed_data(found)
    assert typed["domain"] == {"name": "USD Coin", "version": "2", "chainId": 42161, "verifyingContract": USDC}
    assert typed["values"] == {
        "owner": ACCOUNT, "spender": PERMIT2, "value": str(MAX_UINT256), "nonce": "1", "deadline": 1742205771
    }
    kinds = {"owner": "address", "spender": "address", "value": "uint256", "nonce": "uint256", "deadline": "uint256"}
    assert typed["types"] == {"Permit": [{"name": name, "type": kind} for name, kind in kinds.items()]}


@pytest.mark.parametrize(
    "changed",
    [
        {"name": None},
        {"name": b"\xff" * 64},
        {"name": encode(["string"], ["Tether USD"])},
        {"version": None},
        {"separator": None},
        {"separator": bytes(32)},
        {"nonce": None},
        {"nonce": b""},
    ],
)
def test_a_token_of_another_form_has_no_permit(changed: dict[str, bytes | None]) -> None:
    assert erc2612.permit_of(answers(TOKEN_PERMIT, **changed), USDC, 42161, ACCOUNT, PERMIT2, 1742205771) is None


@pytest.mark.parametrize(("length", "is_read"), [(64, True), (65, False)])
def test_the_name_of_a_token_has_64_bytes_at_most(length: int, is_read: bool) -> None:
    name = "n" * length
    domain = [keccak(text=SEPARATOR), keccak(text=name), keccak(text="2"), 42161, USDC]
    separator = keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], domain))
    read = answers(TOKEN_PERMIT, name=encode(["string"], [name]), separator=separator)
    assert (erc2612.permit_of(read, USDC, 42161, ACCOUNT, PERMIT2, 1742205771) is not None) is is_read


def test_a_name_that_is_cut_off_is_none() -> None:
    cut = encode(["string"], ["USD Coin"])[:64] + b"USD Co"
    domain = [keccak(text=SEPARATOR), keccak(text="USD Co"), keccak(text="2"), 42161, USDC]
    separator = keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], domain))
    read = answers(TOKEN_PERMIT, name=cut, separator=separator)
    assert erc2612.permit_of(read, USDC, 42161, ACCOUNT, PERMIT2, 1742205771) is None


def test_a_token_without_a_version_signs_as_version_1() -> None:
    domain = [keccak(text=SEPARATOR), keccak(text="USD Coin"), keccak(text="1"), 42161, USDC]
    separator = keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], domain))
    found = erc2612.permit_of(
        answers(TOKEN_PERMIT, version=None, separator=separator), USDC, 42161, ACCOUNT, PERMIT2, 1742205771
    )
    assert found == replace(TOKEN_PERMIT, token_version="1")


@pytest.mark.parametrize("v", [0, 27])
def test_the_call_of_a_tokens_permit_has_the_parts_of_its_signature(v: int) -> None:
    signed = Account.create().sign_message(signable(erc2612.typed_data(TOKEN_PERMIT), "Permit"))
    raw = bytes(signed.signature)
    sent = raw[:64] + bytes([raw[64] - 27 + v])
    made = erc2612.permit_transaction(TOKEN_PERMIT, sent)
    kinds = ["address", "address", "uint256", "uint256", "uint8", "bytes32", "bytes32"]
    values = [ACCOUNT, PERMIT2, MAX_UINT256, 1742205771, raw[64], raw[:32], raw[32:64]]
    assert (made.to, made.data, made.value) == (USDC, "0xd505accf" + encode(kinds, values).hex(), 0)
    with pytest.raises(ValueError, match="65 bytes"):
        erc2612.permit_transaction(TOKEN_PERMIT, raw + b"\0")


def test_the_reads_are_those_of_the_standard() -> None:
    functions = ("name()", "version()", "DOMAIN_SEPARATOR()")
    assert [each.data for each in erc2612.reads(USDC, ACCOUNT)] == [
        *("0x" + keccak(text=each)[:4].hex() for each in functions),
        "0x" + keccak(text="nonces(address)")[:4].hex() + encode(["address"], [ACCOUNT]).hex(),
    ]
    assert permit2.TYPES["Domain"][0] == ("account", "address")
