"""Tron transactions as bytes: their contract call, id and signer. Independent of the service's own encoder.

A transaction is protobuf: `Transaction {raw raw_data = 1; repeated bytes signature = 2}`, where raw contains

    1 ref_block_bytes   4 ref_block_hash   8 expiration   10 memo   11 Contract   14 timestamp   18 fee_limit

and a Contract `1 type (31 TriggerSmartContract), 2 Any {1 type_url, 2 value}, 5 Permission_id`, whose value is
`1 owner_address, 2 contract_address, 3 call_value, 4 data`. A transfer of TRX is `1 type (1 TransferContract)` with
`1 owner_address, 2 to_address, 3 amount`, here a call with the recipient as contract and no data. What delegates a part
of a stake, or takes it back, is `1 type (57 DelegateResourceContract, 58 UnDelegateResourceContract)` with `1
owner_address, 2 resource (0 BANDWIDTH, 1 ENERGY), 3 balance, 4 receiver_address`, here a call as well. An address has
21 bytes, the first is 0x41. The id is the SHA-256 of raw; the owner signs the id. Fields that are zero are left out;
times are milliseconds, amounts sun.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import base58

TRIGGER = "TriggerSmartContract"
TRANSFER = "TransferContract"
DELEGATE, TAKE_BACK = "DelegateResourceContract", "UnDelegateResourceContract"
_TYPES = {TRIGGER: 31, TRANSFER: 1, DELEGATE: 57, TAKE_BACK: 58}
_NAMES = {TRIGGER: ("contract_address", "call_value"), TRANSFER: ("to_address", "amount")}
_NAMES |= dict.fromkeys((DELEGATE, TAKE_BACK), ("receiver_address", "balance"))
"""What the address and the amount of a call are called in JSON."""
RESOURCES = ("BANDWIDTH", "ENERGY")
_SIGNATURE_LENGTHS = (65, 68)


class Malformed(Exception):
    """The transaction is not the call of one contract; the message says why."""


@dataclass(frozen=True)
class Call:
    """The fields of a transaction that calls a contract. `owner` and `contract` have 21 bytes."""

    owner: bytes
    contract: bytes
    data: bytes
    call_value: int
    fee_limit: int
    ref_block_bytes: bytes
    ref_block_hash: bytes
    expiration: int
    timestamp: int
    permission_id: int = 0
    memo: bytes = b""
    type: str = TRIGGER
    resource: int = 0

    @property
    def is_delegation(self) -> bool:
        """Whether it delegates `call_value` sun of a stake, or takes them back."""
        return self.type in (DELEGATE, TAKE_BACK)

    @property
    def moved(self) -> int:
        """The sun that it sends."""
        return 0 if self.is_delegation else self.call_value

    @classmethod
    def of_json(cls, raw_data: Mapping[str, Any]) -> Self:
        """Parses `raw_data` as wallets send it. Raises Malformed."""
        try:
            (contract,) = raw_data["contract"]
            value = contract["parameter"]["value"]
            if contract["type"] not in _TYPES:
                raise Malformed(f"{contract['type']} is not served here")
            to, amount = _NAMES[contract["type"]]
            return cls(
                owner=address21(value["owner_address"]),
                contract=address21(value[to]),
                data=bytes.fromhex(value.get("data", "")),
                call_value=int(value.get(amount, 0)),
                fee_limit=int(raw_data.get("fee_limit", 0)),
                ref_block_bytes=bytes.fromhex(raw_data["ref_block_bytes"]),
                ref_block_hash=bytes.fromhex(raw_data["ref_block_hash"]),
                expiration=int(raw_data["expiration"]),
                timestamp=int(raw_data.get("timestamp", 0)),
                permission_id=int(contract.get("Permission_id", 0)),
                memo=bytes.fromhex(raw_data.get("data", "")),
                type=contract["type"],
                resource=RESOURCES.index(value.get("resource", "BANDWIDTH")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Malformed(f"raw_data: {error!r}") from error

    @classmethod
    def of_bytes(cls, raw: bytes) -> Self:
        """Parses the bytes of raw_data. Raises Malformed."""
        try:
            outer = _fields(raw)
            contract = _fields(outer[11][0])
            types = [name for name, number in _TYPES.items() if contract[1] == [number]]
            if len(outer[11]) != 1 or not types:
                raise Malformed("only one call of a contract, transfer of TRX or delegation is served here")
            value = _fields(_fields(contract[2][0])[2][0])
            delegates = types[0] in (DELEGATE, TAKE_BACK)
            return cls(
                owner=value[1][0],
                contract=value[4 if delegates else 2][0],
                data=b"" if delegates else value.get(4, [b""])[0],
                call_value=value.get(3, [0])[0],
                fee_limit=outer.get(18, [0])[0],
                ref_block_bytes=outer[1][0],
                ref_block_hash=outer[4][0],
                expiration=outer[8][0],
                timestamp=outer.get(14, [0])[0],
                permission_id=contract.get(5, [0])[0],
                memo=outer.get(10, [b""])[0],
                type=types[0],
                resource=value.get(2, [0])[0] if delegates else 0,
            )
        except (KeyError, IndexError, TypeError) as error:
            raise Malformed(f"raw_data: {error!r}") from error

    @property
    def _type_url(self) -> str:
        return f"type.googleapis.com/protocol.{self.type}"

    def encode(self) -> bytes:
        """Returns raw_data as bytes."""
        second, last = _bytes(2, self.contract), _bytes(4, self.data)
        if self.is_delegation:
            second, last = _int(2, self.resource), _bytes(4, self.contract)
        value = _bytes(1, self.owner) + second + _int(3, self.call_value) + last
        any_ = _bytes(1, self._type_url.encode()) + _bytes(2, value)
        contract = _int(1, _TYPES[self.type]) + _bytes(2, any_) + _int(5, self.permission_id)
        head = _bytes(1, self.ref_block_bytes) + _bytes(4, self.ref_block_hash) + _int(8, self.expiration)
        head += _bytes(10, self.memo)
        return head + _bytes(11, contract) + _int(14, self.timestamp) + _int(18, self.fee_limit)

    def json(self) -> dict[str, Any]:
        """Returns raw_data as nodes return it with `visible: false`."""
        to, amount = _NAMES[self.type]
        value: dict[str, Any] = {"data": self.data.hex()} if self.type == TRIGGER else {}
        value |= {"owner_address": self.owner.hex(), to: self.contract.hex()} | _unless_zero(amount, self.call_value)
        value |= {"resource": RESOURCES[self.resource]} if self.resource else {}
        contract = {"parameter": {"value": value, "type_url": self._type_url}, "type": self.type}
        return {
            "contract": [contract | _unless_zero("Permission_id", self.permission_id)],
            "ref_block_bytes": self.ref_block_bytes.hex(),
            "ref_block_hash": self.ref_block_hash.hex(),
            "expiration": self.expiration,
            **({"data": self.memo.hex()} if self.memo else {}),
            **_unless_zero("fee_limit", self.fee_limit),
            "timestamp": self.timestamp,
        }


@dataclass(frozen=True)
class Transaction:
    """A call, the bytes of its raw_data and its signatures."""

    call: Call
    raw: bytes
    signatures: tuple[bytes, ...] = ()

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> Self:
        """Parses `{raw_data, signature}`; like nodes it ignores txID and raw_data_hex. Raises Malformed."""
        call = Call.of_json(body.get("raw_data") or {})
        try:
            signatures = tuple(bytes.fromhex(text.removeprefix("0x")) for text in body.get("signature") or ())
        except (ValueError, AttributeError, TypeError) as error:
            raise Malformed(f"signature: {error}") from error
        return cls(call, call.encode(), signatures)

    @classmethod
    def of_hex(cls, text: str) -> Self:
        """Parses a transaction from hex. Raises Malformed."""
        try:
            fields = _fields(bytes.fromhex(text))
            return cls(Call.of_bytes(fields[1][0]), fields[1][0], tuple(fields.get(2, ())))
        except (KeyError, ValueError, TypeError) as error:
            raise Malformed(f"transaction: {error!r}") from error

    @property
    def id(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    def json(self) -> dict[str, Any]:
        fields = {"visible": False, "txID": self.id, "raw_data": self.call.json(), "raw_data_hex": self.raw.hex()}
        return fields | ({"signature": [each.hex() for each in self.signatures]} if self.signatures else {})

    def signature_problem(self, permitted: bytes | None = None) -> str | None:
        """Returns None if the only signature is the owner's, else the reason why it is refused. `permitted` is the
        address of the key that the owner's permission has, where it is another one."""
        if len(self.signatures) != 1:
            return "miss sig or contract" if not self.signatures else "too many signatures"
        (signature,) = self.signatures
        if len(signature) not in _SIGNATURE_LENGTHS:
            return f"Signature size is {len(signature)}"
        if _signer(bytes.fromhex(self.id), signature) != (permitted or self.call.owner):
            return f"{signature.hex()} is not signed by the owner"
        return None


def address21(text: str) -> bytes:
    """Returns the 21 bytes of an address in base58, as 41 and 40 hex digits, or as 0x and 40. Raises ValueError."""
    raw = base58.b58decode_check(text) if text.startswith("T") else bytes.fromhex(text.removeprefix("0x"))
    raw = raw if len(raw) == 21 else b"\x41" + raw
    if len(raw) != 21 or raw[0] != 0x41:
        raise ValueError(f"{text} is not an address")
    return raw


def base58_address(raw: bytes) -> str:
    return base58.b58encode_check(raw).decode()


def _signer(digest: bytes, signature: bytes) -> bytes | None:
    """Returns the signer's address, 21 bytes, or None if the signature (r, s, v; v is 0, 1, 27 or 28) is invalid."""
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature, ValidationError

    v = signature[64] - 27 if signature[64] >= 27 else signature[64]
    try:
        key = Signature(signature[:64] + bytes([v])).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError):
        return None
    return b"\x41" + key.to_canonical_address()


def _unless_zero(name: str, value: int) -> dict[str, int]:
    return {name: value} if value else {}


def _varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value if value else b""


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _fields(raw: bytes) -> Mapping[int, Sequence[Any]]:
    """Returns {field: values in order} with ints and bytes as values. Raises Malformed."""
    fields: dict[int, list[Any]] = {}
    position = 0

    def varint() -> int:
        nonlocal position
        number = shift = 0
        while True:
            if position >= len(raw) or shift > 63:
                raise Malformed("the bytes are not protobuf")
            byte = raw[position]
            position += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while position < len(raw):
        field, kind = divmod(varint(), 8)
        value: int | bytes = varint()
        if kind == 2:
            size = int(value)
            value = raw[position : position + size]
            position += size
            if len(value) != size:
                raise Malformed("the bytes end too early")
        elif kind != 0:
            raise Malformed("the bytes are not protobuf")
        fields.setdefault(field, []).append(value)
    return fields
