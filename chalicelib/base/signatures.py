"""Who signed: wallet signatures over messages and typed data, for EVM wallets and Tron.

    EIP-191   keccak256("\\x19Ethereum Signed Message:\\n" | decimal length in bytes | message)
    TIP-191   keccak256("\\x19TRON Signed Message:\\n" | decimal length in bytes | message)       signMessageV2
    EIP-712   keccak256(0x1901 | hash of the domain | hash of the message)
    TIP-712   EIP-712 over the 20 bytes of each base58 address

A signature is r | s | v: 65 bytes. The older signing of Tron (v1) hashes something else, so that it recovers to a
stranger. Contract wallets answer for themselves: chain/evm.py, is_valid_signature.
"""

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.base.addresses import address_bytes, evm_address, tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.keccak import keccak256

SIGNATURE_BYTES = 65
MAX_SIGNATURE_BYTES = 32 * 1024
"""A contract wallet's signature may be longer; nodes refuse a call that creates more than 48 kB of code (EIP-3860)."""

_SIGNATURE = re.compile(f"(?:0x)?((?:[0-9a-fA-F]{{2}}){{{SIGNATURE_BYTES},{MAX_SIGNATURE_BYTES}}})")
_RECOVERY_ID = {0: 0, 1: 1, 27: 0, 28: 1}
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1. Of a signature's two forms only the one with s up to here is accepted (EIP-2)."""

_WORD = 32
_DOMAIN = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
_ARRAY = re.compile(r"(.+)\[(\d*)\]")
_INTEGER = re.compile(r"(u?)int(\d*)")
_FIXED_BYTES = re.compile(r"bytes(\d+)")

_Types = Mapping[str, list[dict[str, str]]]


def signature_bytes(text: str) -> bytes:
    """A signature as it is sent: hexadecimal, with or without 0x, of 65 bytes or more. Raises BadRequest."""
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise BadRequest(f"Invalid signature: use the hexadecimal digits of {SIGNATURE_BYTES} bytes or more")
    return bytes.fromhex(match[1])


def recover_personal(message: str, signature: bytes) -> str | None:
    """The EIP-55 address whose wallet signed a message (personal_sign), None when no address comes out."""
    return recover_digest(personal_digest(message), signature)


def recover_tron(message: str, signature: bytes) -> str | None:
    """The base58 address whose wallet signed a message (signMessageV2), None when no address comes out."""
    signer = _signer(tron_digest(message), signature)
    return None if signer is None else tron_address_of(signer)


def recover_digest(digest: bytes, signature: bytes) -> str | None:
    """The EIP-55 address that signed 32 bytes; None when the signature has another length, a v that is not
    0, 1, 27 or 28, a high s, or belongs to no key. Any other signature recovers to some address: compare it.
    """
    signer = _signer(digest, signature)
    return None if signer is None else evm_address("0x" + signer.hex())


def personal_digest(message: str) -> bytes:
    """EIP-191, version 0x45."""
    return _message_digest("Ethereum", message)


def tron_digest(message: str) -> bytes:
    """TIP-191 as signMessageV2 has it."""
    return _message_digest("TRON", message)


def typed_data_digest(typed: Mapping[str, Any]) -> bytes:
    """The digest of `{domain, types, primaryType, message}`: EIP-712, and TIP-712 where addresses are base58.

    Integers may be decimal or 0x text, bytes are 0x text. Without an `EIP712Domain` among the types it is the members
    that the domain has, in the standard's order. Raises ValueError, LookupError, OverflowError or BadRequest (an
    address) when the values are not of the types: typed data is ours, a caller never chooses its types.
    """
    domain, types = typed["domain"], dict(typed["types"])
    types.setdefault("EIP712Domain", [{"name": name, "type": kind} for name, kind in _DOMAIN.items() if name in domain])
    hashes = _struct_hash("EIP712Domain", domain, types), _struct_hash(typed["primaryType"], typed["message"], types)
    return keccak256(b"\x19\x01" + b"".join(hashes))


def _message_digest(chain: str, message: str) -> bytes:
    raw = message.encode()
    return keccak256(f"\x19{chain} Signed Message:\n{len(raw)}".encode() + raw)


def _signer(digest: bytes, signature: bytes) -> bytes | None:
    """The last 20 bytes of keccak256 of the public key that made the signature."""
    from coincurve import PublicKey

    if len(signature) != SIGNATURE_BYTES:
        return None
    recovery_id = _RECOVERY_ID.get(signature[64])
    if recovery_id is None or int.from_bytes(signature[32:64], "big") > _HALF_ORDER:
        return None
    try:
        key = PublicKey.from_signature_and_message(signature[:64] + bytes([recovery_id]), digest, hasher=None)
    except ValueError:
        return None
    return keccak256(key.format(compressed=False)[1:])[-20:]


def _struct_hash(name: str, values: Mapping[str, Any], types: _Types) -> bytes:
    words = [_word(field["type"], values[field["name"]], types) for field in types[name]]
    return keccak256(keccak256(_type_text(name, types).encode()) + b"".join(words))


def _type_text(name: str, types: _Types) -> str:
    """`Mail(Person from,string contents)Person(string name)`: the type, then those it needs, by name."""
    needed: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        if current not in needed:
            needed.add(current)
            members = (field["type"].partition("[")[0] for field in types[current])
            pending += [member for member in members if member in types]
    texts = []
    for each in (name, *sorted(needed - {name})):
        fields = ",".join(f"{field['type']} {field['name']}" for field in types[each])
        texts.append(f"{each}({fields})")
    return "".join(texts)


def _word(kind: str, value: Any, types: _Types) -> bytes:
    """A member's 32 bytes."""
    if array := _ARRAY.fullmatch(kind):
        item, length = array.groups()
        if length and len(value) != int(length):
            raise ValueError(f"{kind} has {len(value)} items")
        return keccak256(b"".join(_word(item, each, types) for each in value))
    if kind in types:
        return _struct_hash(kind, value, types)
    if kind == "string":
        return keccak256(value.encode())
    if kind == "bytes":
        return keccak256(_octets(value))
    if kind == "address":
        return address_bytes(value).rjust(_WORD, b"\0")
    if kind == "bool":
        return {False: 0, True: 1}[value].to_bytes(_WORD, "big")
    if fixed := _FIXED_BYTES.fullmatch(kind):
        return _fixed_bytes_word(kind, _octets(value), int(fixed[1]))
    if integer := _INTEGER.fullmatch("uint256" if kind == "trcToken" else kind):  # trcToken: a token id, TIP-712 alone
        return _integer_word(kind, value, bits=int(integer[2] or 256), signed=not integer[1])
    raise ValueError(f"{kind} is no type of EIP-712")


def _octets(value: str) -> bytes:
    if not value.startswith("0x"):
        raise ValueError("bytes are written as 0x and hexadecimal digits")
    return bytes.fromhex(value[2:])


def _fixed_bytes_word(kind: str, raw: bytes, length: int) -> bytes:
    if len(raw) != length or not 1 <= length <= _WORD:
        raise ValueError(f"{kind} has {len(raw)} bytes")
    return raw.ljust(_WORD, b"\0")


def _integer_word(kind: str, value: int | str, bits: int, signed: bool) -> bytes:
    if bits % 8 or not 8 <= bits <= 256:
        raise ValueError(f"{kind} is no type of EIP-712")
    number = int(value, 0) if isinstance(value, str) else value
    number.to_bytes(bits // 8, "big", signed=signed)  # raises OverflowError outside the type's range
    return number.to_bytes(_WORD, "big", signed=signed)
