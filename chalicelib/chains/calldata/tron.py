"""Tron transactions in the form that is signed: the protobuf `Transaction.raw` with one contract.

That is a TriggerSmartContract, or one that delegates energy or bandwidth of a stake, or takes it back.

    raw             1 ref_block_bytes | 4 ref_block_hash | 8 expiration | 10 memo | 11 contract | 14 timestamp
                    18 fee_limit
    contract        1 type: 31, 57 to delegate, 58 to take back | 2 Any | 5 permission id
    Any             1 type URL | 2 trigger or delegation
    trigger         1 owner | 2 contract | 3 call_value | 4 data          addresses: 0x41 and 20 bytes
    delegation      1 owner | 2 resource | 3 balance | 4 receiver         never locked (5 lock, 6 lock_period)
    Transaction     1 raw | 2 signature, each 65 bytes

Fields that are 0 or empty are left out. The transaction's id is the SHA-256 of raw, and is what wallets sign.
"""

import hashlib
from collections.abc import Iterator, Sequence
from enum import IntEnum

from chalicelib.base.addresses import address_bytes, tron_address_of
from chalicelib.base.frozen import frozen
from chalicelib.base.signatures import SIGNATURE_BYTES, recover_digest
from chalicelib.chains.calldata.transaction import Transaction

APPROVAL_FEE_LIMIT = 100_000_000
"""The most sun (100 TRX) that an approval may burn for energy: the value of Request Network's payment processor."""
PAYMENT_FEE_LIMIT = 300_000_000
"""The most sun (300 TRX) that a payment may burn for energy: the value of Request Network's payment processor."""
RESULT_BYTES = 64
"""What the network adds to a transaction's bytes when it charges bandwidth: it reserves them for the result."""

_TRIGGER, _DELEGATE, _TAKE_BACK = 31, 57, 58
_TYPE_URL = b"type.googleapis.com/protocol."
_NAMES = {
    _TRIGGER: b"TriggerSmartContract",
    _DELEGATE: b"DelegateResourceContract",
    _TAKE_BACK: b"UnDelegateResourceContract",
}
_PREFIX = b"\x41"
_BYTES, _NUMBER = 2, 0
_A_TIME = 1_800_000_000_000


@frozen
class TronTransaction:
    """A contract call to sign. Addresses in base58, `data` 0x hex, value and fee limit in sun, times in milliseconds.

    `ref_block_bytes` (2 bytes) and `ref_block_hash` (8 bytes) name a recent block. Nodes refuse the transaction from
    `expiration` on. `permission_id` is 0 for the account's owner permission, above 0 for its other permissions.
    """

    owner: str
    contract: str
    data: str
    call_value: int
    fee_limit: int
    expiration: int
    ref_block_bytes: bytes
    ref_block_hash: bytes
    timestamp: int
    permission_id: int = 0
    memo: bytes = b""


class Resource(IntEnum):
    """What a stake gives, by its number in protobuf."""

    BANDWIDTH = 0
    ENERGY = 1


@frozen
class Delegation:
    """What a stake gives, delegated to a receiver or taken back from it, to sign. Addresses in base58, `balance` is the
    part of the stake in sun, times in milliseconds; the rest as of TronTransaction. It can be taken back at any time.
    """

    owner: str
    receiver: str
    resource: Resource
    balance: int
    takes_back: bool
    expiration: int
    ref_block_bytes: bytes
    ref_block_hash: bytes
    timestamp: int
    permission_id: int = 0


def encode_raw(transaction: TronTransaction) -> bytes:
    """The bytes to hash and sign (`raw_data_hex` of tronweb). Raises ValueError for numbers out of range."""
    trigger = b"".join(
        (
            _bytes(1, _PREFIX + address_bytes(transaction.owner)),
            _bytes(2, _PREFIX + address_bytes(transaction.contract)),
            _number(3, transaction.call_value),
            _bytes(4, bytes.fromhex(transaction.data.removeprefix("0x"))),
        )
    )
    return _raw(transaction, _TRIGGER, trigger, transaction.memo, transaction.fee_limit)


def encode_delegation(delegation: Delegation) -> bytes:
    """The bytes to hash and sign. Raises ValueError for numbers out of range."""
    value = b"".join(
        (
            _bytes(1, _PREFIX + address_bytes(delegation.owner)),
            _number(2, delegation.resource),
            _number(3, delegation.balance),
            _bytes(4, _PREFIX + address_bytes(delegation.receiver)),
        )
    )
    return _raw(delegation, _TAKE_BACK if delegation.takes_back else _DELEGATE, value)


def decode_raw(raw: bytes) -> TronTransaction:
    """The contract call in a transaction's raw bytes.

    Raises ValueError unless `encode_raw` would return the same bytes for it. This refuses other kinds of contracts,
    TRC-10 tokens, unknown or repeated fields, and other encodings of the same values.
    """
    outer = dict(_fields(raw))
    contract = dict(_fields(_bytes_of(outer, 11)))
    parameter = dict(_fields(_bytes_of(contract, 2)))
    trigger = dict(_fields(_bytes_of(parameter, 2)))
    transaction = TronTransaction(
        owner=_address(_bytes_of(trigger, 1)),
        contract=_address(_bytes_of(trigger, 2)),
        data="0x" + _bytes_of(trigger, 4).hex(),
        call_value=_number_of(trigger, 3),
        fee_limit=_number_of(outer, 18),
        expiration=_number_of(outer, 8),
        ref_block_bytes=_bytes_of(outer, 1),
        ref_block_hash=_bytes_of(outer, 4),
        timestamp=_number_of(outer, 14),
        permission_id=_number_of(contract, 5),
        memo=_bytes_of(outer, 10),
    )
    if encode_raw(transaction) != raw:
        raise ValueError("the transaction is more or other than one contract call")
    return transaction


def tx_id(raw: bytes) -> str:
    """The transaction's id: 64 hexadecimal digits, without 0x as usual on Tron."""
    return hashlib.sha256(raw).hexdigest()


def recover_signer(raw: bytes, signature: bytes) -> str | None:
    """The base58 address whose key signed the transaction; None if the signature is invalid."""
    signer = recover_digest(hashlib.sha256(raw).digest(), signature)
    return None if signer is None else tron_address_of(address_bytes(signer))


def encode_signed_transaction(raw: bytes, signatures: Sequence[bytes]) -> bytes:
    """The signed transaction for /wallet/broadcasthex. Raises ValueError unless each signature has 65 bytes."""
    if any(len(signature) != SIGNATURE_BYTES for signature in signatures):
        raise ValueError(f"a signature has {SIGNATURE_BYTES} bytes")
    return _bytes(1, raw) + b"".join(_bytes(2, signature) for signature in signatures)


def bandwidth_of(owner: str, call: Transaction, fee_limit: int) -> int:
    """The bytes that a call takes of an account's bandwidth, signed by one key: the transaction, and what the network
    reserves for its result. Times are as long as they will be until 2109."""
    made = TronTransaction(
        owner=owner,
        contract=call.to,
        data=call.data,
        call_value=call.value,
        fee_limit=fee_limit,
        expiration=_A_TIME,
        ref_block_bytes=b"\0\0",
        ref_block_hash=bytes(8),
        timestamp=_A_TIME,
    )
    return len(encode_signed_transaction(encode_raw(made), [bytes(SIGNATURE_BYTES)])) + RESULT_BYTES


def _raw(made: TronTransaction | Delegation, kind: int, value: bytes, memo: bytes = b"", fee_limit: int = 0) -> bytes:
    """The raw bytes of a transaction with one contract of a kind, which is `value`."""
    parameter = _bytes(1, _TYPE_URL + _NAMES[kind]) + _bytes(2, value)
    contract = _number(1, kind) + _bytes(2, parameter) + _number(5, made.permission_id)
    return b"".join(
        (
            _bytes(1, made.ref_block_bytes),
            _bytes(4, made.ref_block_hash),
            _number(8, made.expiration),
            _bytes(10, memo),
            _bytes(11, contract),
            _number(14, made.timestamp),
            _number(18, fee_limit),
        )
    )


def _varint(value: int) -> bytes:
    if value >> 63:  # a negative number stays negative
        raise ValueError("a number is negative or above 63 bits")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _NUMBER) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value if value else b""


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The number and value of each field. Raises ValueError for other wire types than bytes and varint."""
    offset = 0
    while offset < len(data):
        key, offset = _read_varint(data, offset)
        value, offset = _read_varint(data, offset)
        if key & 7 == _NUMBER:
            yield key >> 3, value
        elif key & 7 == _BYTES and offset + value <= len(data):
            yield key >> 3, data[offset : offset + value]
            offset += value
        else:
            raise ValueError("a field of another kind, or one longer than its message")


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """The varint at an offset, and the offset after it."""
    value = 0
    for index, byte in enumerate(data[offset : offset + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, offset + index + 1
    raise ValueError("a number has no end")


def _bytes_of(fields: dict[int, bytes | int], number: int) -> bytes:
    value = fields.get(number, b"")
    if not isinstance(value, bytes):
        raise ValueError(f"field {number} is a number")
    return value


def _number_of(fields: dict[int, bytes | int], number: int) -> int:
    value = fields.get(number, 0)
    if not isinstance(value, int):
        raise ValueError(f"field {number} is not a number")
    return value


def _address(raw: bytes) -> str:
    if len(raw) != 21 or raw[:1] != _PREFIX:
        raise ValueError("an address is 0x41 and 20 bytes")
    return tron_address_of(raw[1:])
