"""Tron transactions byte for byte: against tronweb's, and whatever is not exactly one contract call."""

import hashlib
import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tronpy import Tron
from tronpy.keys import PrivateKey
from tronpy.providers import HTTPProvider

from chalicelib.base.addresses import address_bytes, tron_address_of
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Checkout, Due, pay_one, pay_together, with_approvals
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.tron import (
    APPROVAL_FEE_LIMIT,
    Delegation,
    Resource,
    TronTransaction,
    bandwidth_of,
    decode_raw,
    encode_delegation,
    encode_raw,
    encode_signed_transaction,
    recover_signer,
    tx_id,
)
from chalicelib.chains.catalogue.tokens import find_tokens
from infra.local.tron_transactions import Transaction as SignedTransaction
from tests.base.tron_vector_files import Vector, find, folder
from tests.oracles.node import run

KEY = PrivateKey(bytes.fromhex("c1" * 32))
OWNER, USDT = KEY.public_key.to_base58check_address(), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
CALL = TronTransaction(
    owner=OWNER,
    contract=USDT,
    data="0x095ea7b3" + "00" * 64,
    call_value=0,
    fee_limit=100_000_000,
    expiration=1_767_225_660_000,
    ref_block_bytes=bytes.fromhex("267e"),
    ref_block_hash=bytes.fromhex("9a447d222e8de9f2"),
    timestamp=1_767_225_600_000,
)
USDT_TOKEN = next(token for token in find_tokens("tron") if token.address == USDT)
SIZES = [(4, 0), (67, 1), (127, 128), (128, 2**35), (16_000, 0), (16_383, 0), (16_384, 0), (40_000, 0)]
"""Bytes of calldata and sun, round the lengths at which protobuf writes one more byte."""
INT64 = st.integers(min_value=0, max_value=2**63 - 1)
ADDRESSES = st.binary(min_size=20, max_size=20).map(tron_address_of)
CALLS = st.builds(
    TronTransaction,
    owner=ADDRESSES,
    contract=ADDRESSES,
    data=st.binary(max_size=300).map(lambda data: "0x" + data.hex()),
    call_value=INT64,
    fee_limit=INT64,
    expiration=INT64,
    ref_block_bytes=st.binary(max_size=4),
    ref_block_hash=st.binary(max_size=10),
    timestamp=INT64,
    permission_id=st.integers(min_value=0, max_value=9),
    memo=st.binary(max_size=20),
)


def as_json(call: TronTransaction) -> dict[str, Any]:
    """The transaction as tronweb takes it."""
    value = {
        "owner_address": "41" + address_bytes(call.owner).hex(),
        "contract_address": "41" + address_bytes(call.contract).hex(),
        "data": call.data[2:],
        "call_value": call.call_value,
    }
    parameter = {"value": value, "type_url": "type.googleapis.com/protocol.TriggerSmartContract"}
    contract = {"parameter": parameter, "type": "TriggerSmartContract", "Permission_id": call.permission_id}
    raw_data = {
        "contract": [contract],
        "ref_block_bytes": call.ref_block_bytes.hex(),
        "ref_block_hash": call.ref_block_hash.hex(),
        "expiration": call.expiration,
        "timestamp": call.timestamp,
        "fee_limit": call.fee_limit,
        "data": call.memo.hex(),
    }
    return {"visible": False, "raw_data": raw_data}


def test_a_call_is_written_as_tronweb_writes_it() -> None:
    chance = random.Random(4)
    calls = [
        replace(
            CALL,
            contract=tron_address_of(chance.randbytes(20)),
            data="0x" + chance.randbytes(chance.choice((4, 68, 300, 40_000))).hex(),
            call_value=chance.choice((0, 1, 127, 128, chance.randrange(2**53))),
            fee_limit=chance.randrange(1, 15 * 10**9),
            permission_id=chance.choice((0, 2)),
            memo=chance.choice((b"", b"INV-1")),
        )
        for _ in range(40)
    ]
    written = [{"raw_data_hex": encode_raw(call).hex(), "txID": tx_id(encode_raw(call))} for call in calls]
    assert run("tron_transactions.js", [as_json(call) for call in calls]) == written


def delegations() -> list[Delegation]:
    """Energy and bandwidth, given and taken back, by the owner's own key and by a permission."""
    chance = random.Random(7)
    return [
        Delegation(
            owner=OWNER,
            receiver=tron_address_of(chance.randbytes(20)),
            resource=Resource(at % 2),
            balance=chance.choice((10**6, 127 * 10**6, chance.randrange(10**6, 2**53))),
            takes_back=at % 4 > 1,
            expiration=CALL.expiration,
            ref_block_bytes=CALL.ref_block_bytes,
            ref_block_hash=CALL.ref_block_hash,
            timestamp=CALL.timestamp,
            permission_id=chance.choice((0, 2)),
        )
        for at in range(40)
    ]


def test_a_delegation_is_written_as_tronweb_builds_it_with_the_fields_of_tronpy() -> None:
    header = {
        "ref_block_bytes": CALL.ref_block_bytes.hex(),
        "ref_block_hash": CALL.ref_block_hash.hex(),
        "expiration": CALL.expiration,
        "timestamp": CALL.timestamp,
    }
    asked = [
        {
            "owner": each.owner,
            "receiver": each.receiver,
            "balance": each.balance,
            "resource": each.resource.name,
            "takesBack": each.takes_back,
            "permissionId": each.permission_id,
            "header": header,
        }
        for each in delegations()
    ]
    answers, builder = run("tron_delegations.js", asked), Tron(HTTPProvider("http://127.0.0.1:1")).trx
    for each, built in zip(delegations(), answers, strict=True):
        raw = encode_delegation(each)
        assert (raw.hex(), tx_id(raw)) == (built["raw_data_hex"].lower(), built["txID"])
        make = builder.undelegate_resource if each.takes_back else builder.delegate_resource
        (contract,) = make(each.owner, each.receiver, each.balance, each.resource.name)._raw_data["contract"]
        fields = {name: value for name, value in contract["parameter"]["value"].items() if value not in ("BANDWIDTH", False)}
        assert (contract["type"], fields) == (built["type"], built["value"])


def test_a_delegation_is_no_call_that_is_broadcast_and_takes_the_bandwidth_that_the_documents_name() -> None:
    lengths = set()
    for each in delegations():
        raw = encode_delegation(replace(each, balance=21_000 * 10**6, permission_id=0))
        with pytest.raises(ValueError):
            decode_raw(raw)
        lengths.add(len(encode_signed_transaction(raw, [bytes(65)])) + 64)
    assert lengths == {277, 279, 281}


def test_the_bandwidth_of_a_call_is_the_length_of_what_tronweb_signs_and_the_room_for_its_result() -> None:
    chance = random.Random(11)
    dues = [Due(USDT_TOKEN, OWNER, BaseUnits(10**6), BaseUnits(10**4), OWNER, chance.randbytes(8)) for _ in range(60)]
    checkouts = [with_approvals(made, {}) for made in (pay_one(dues[0]), *(pay_together(dues[:n], 0) for n in (2, 9, 60)))]
    calls = [
        *((each, APPROVAL_FEE_LIMIT) for made in checkouts for each in made.approvals),
        *((each, made.fee_limit) for made in checkouts for each in made.payments),
        *((erc20.approve(USDT, OWNER, 1), limit) for limit in (1, 127, 128, 2**21 - 1, 2**21, 15 * 10**9)),
        *((Transaction(USDT, "0x" + chance.randbytes(size).hex(), value), 300_000_000) for size, value in SIZES),
    ]
    asked = [{"to": each.to, "data": each.data, "value": each.value, "feeLimit": limit} for each, limit in calls]
    answers = run("tron_bandwidth.js", asked)
    assert [bandwidth_of(found["owner"], *call) for call, found in zip(calls, answers, strict=True)] == [
        found["bytes"] + 64 for found in answers
    ]
    assert [bandwidth_of(OWNER, *calls[at]) for at in (0, len(checkouts))] == [345, 540]


@pytest.mark.parametrize("vector", [v for v in find(folder())[0] if "raw_data_hex" in v.entry], ids=str)
def test_a_vector_is_read_and_written_again(vector: Vector) -> None:
    entry, raw = vector.entry, bytes.fromhex(vector.entry["raw_data_hex"])
    call = decode_raw(raw)
    assert (call.contract, call.data, call.fee_limit) == (entry["contract"], entry["data"], entry["feeLimit"])
    assert (encode_raw(call), tx_id(raw)) == (raw, entry["txID"])
    assert recover_signer(raw, bytes.fromhex(entry["signature"])) == call.owner == entry["owner"]


@settings(max_examples=150)
@given(CALLS)
def test_a_call_that_is_written_is_read_back(call: TronTransaction) -> None:
    assert decode_raw(encode_raw(call)) == call


def test_the_signer_is_found_again_and_the_signed_bytes_are_what_a_node_takes() -> None:
    raw = encode_raw(CALL)
    signature = KEY.sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes()
    assert recover_signer(raw, signature) == OWNER
    assert recover_signer(raw + b"\0", signature) != OWNER
    assert recover_signer(raw, signature[:-1]) is None
    taken = SignedTransaction.of_hex(encode_signed_transaction(raw, [signature]).hex())
    assert (taken.raw, taken.signatures, taken.signature_problem()) == (raw, (signature,), None)
    twice = SignedTransaction.of_hex(encode_signed_transaction(raw, [signature, signature]).hex())
    assert twice.signatures == (signature, signature)
    with pytest.raises(ValueError, match="65 bytes"):
        encode_signed_transaction(raw, [signature[:-1]])


@pytest.mark.parametrize("number", [-1, 2**63])
def test_a_number_outside_of_protobuf_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="63 bits"):
        encode_raw(replace(CALL, call_value=number))
    assert decode_raw(encode_raw(replace(CALL, call_value=2**63 - 1))).call_value == 2**63 - 1


def field(number: int, value: bytes) -> bytes:
    """A protobuf field of bytes, in parts of less than 16 kB."""
    length = len(value)
    size = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
    return bytes([number << 3 | 2]) + size + value


def altered() -> dict[str, bytes]:
    """Transactions that begin as a call and are something else besides."""
    plain = encode_raw(CALL)
    owner, contract = (b"\x41" + address_bytes(each) for each in (CALL.owner, CALL.contract))
    trigger = field(1, owner) + field(2, contract) + field(4, bytes.fromhex(CALL.data[2:]))

    def with_contract(changed: bytes) -> bytes:
        return plain.replace(field(11, of(trigger)), field(11, changed))

    def of(value: bytes, kind: int = 31, name: bytes = b"TriggerSmartContract") -> bytes:
        url = field(1, b"type.googleapis.com/protocol." + name)
        return bytes([8, kind]) + field(2, url + field(2, value))

    assert with_contract(of(trigger)) == plain
    return {
        "two calls": with_contract(of(trigger)).replace(field(11, of(trigger)), 2 * field(11, of(trigger))),
        "another type": with_contract(of(trigger, kind=1)),
        "another message": with_contract(of(trigger, name=b"TransferContract")),
        "TRC-10 tokens": with_contract(of(trigger + b"\x28\x05\x30\xc1\x84\x3d")),
        "an address of another kind": with_contract(of(trigger.replace(contract, b"\xa0" + contract[1:]))),
        "a short address": with_contract(of(trigger.replace(field(2, contract), field(2, contract[:-1])))),
        "a provider": with_contract(of(trigger) + field(3, b"x")),
        "an empty contract": with_contract(b""),
        "authorities": plain.replace(field(11, of(trigger)), field(9, b"x") + field(11, of(trigger))),
        "nothing": b"",
        "half": plain[:-40],
        "an unknown field": plain + b"\xf8\x07\x01",
        "a field again": plain + plain[-6:],
        "an explicit zero": plain + b"\x18\x00",
        "a longer number": with_contract(b"\x08\x9f\x00" + of(trigger)[2:]),
        "a number as bytes": plain + field(8, b"x"),
        "bytes as a number": plain + b"\x58\x01",
        "an endless number": b"\xff" * 20,
        "a number of eleven bytes": plain + b"\x18" + b"\x80" * 10 + b"\1",
        "a number of ten bytes": plain + b"\x18" + b"\x80" * 9 + b"\1",
        "a fixed number": plain + b"\x1d\1\2\3\4",
        "a fixed number of eight bytes": plain + b"\x19" + b"\1" * 8,
        "a group": plain + b"\x1b\1\0",
        "bytes beyond the end": plain + b"\x1a\2\0",
    }


REASONS = {
    "an address of another kind": "an address is 0x41 and 20 bytes",
    "a short address": "an address is 0x41 and 20 bytes",
    "an empty contract": "an address is 0x41 and 20 bytes",
    "nothing": "an address is 0x41 and 20 bytes",
    "half": "a field of another kind, or one longer than its message",
    "a number as bytes": "field 8 is not a number",
    "bytes as a number": "field 11 is a number",
    "an endless number": "a number has no end",
    "a number of eleven bytes": "a number has no end",
    "a fixed number": "a field of another kind, or one longer than its message",
    "a fixed number of eight bytes": "a field of another kind, or one longer than its message",
    "a group": "a field of another kind, or one longer than its message",
    "bytes beyond the end": "a field of another kind, or one longer than its message",
}


@pytest.mark.parametrize("name", altered())
def test_what_is_not_exactly_one_call_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=REASONS.get(name, "the transaction is more or other than one contract call")):
        decode_raw(altered()[name])


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_call_or_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError):
        decode_raw(raw)


@settings(max_examples=100)
@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_changes_the_call_or_is_refused(place: int, change: int) -> None:
    raw = bytearray(encode_raw(CALL))
    raw[place % len(raw)] ^= change
    with suppress(ValueError):
        assert decode_raw(bytes(raw)) != CALL


def test_the_fee_limit_of_a_payment_rises_with_its_energy_up_to_what_the_network_takes() -> None:
    """500 sun for each unit of energy, never below 300 nor above 15,000 TRX."""
    sun = 10**6
    assert 100 * sun == APPROVAL_FEE_LIMIT
    limits = {gas: Checkout("T", {}, (), gas).fee_limit for gas in (0, 600_000, 600_001, 2_000_000, 30_000_000, 30_000_001)}
    assert limits == {
        0: 300 * sun,
        600_000: 300 * sun,
        600_001: 300 * sun + 500,
        2_000_000: 1_000 * sun,
        30_000_000: 15_000 * sun,
        30_000_001: 15_000 * sun,
    }
