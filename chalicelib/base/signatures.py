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
_DOMAIN = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
)
_UINT = re.compile(r"uint(\d+)")
_BYTES_WORD = re.compile(r"0x[0-9a-fA-F]{64}")

_Fields = list[dict[str, str]]


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

    Encodes what is signed here: a struct of string, bytes, bytes32, address, bool and uint members, without arrays and
    other structs. Integers may be decimal or 0x text, bytes are 0x text. Raises ValueError, LookupError, OverflowError
    or BadRequest (an address) when a value is not of its type: the service, never a caller, chooses the types.
    """
    domain, name = typed["domain"], typed["primaryType"]
    domain_type = [{"name": member, "type": kind} for member, kind in _DOMAIN if member in domain]
    domain_hash = _struct_hash("EIP712Domain", domain_type, domain)
    return keccak256(b"\x19\x01" + domain_hash + _struct_hash(name, typed["types"][name], typed["message"]))


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


def _struct_hash(name: str, fields: _Fields, values: Mapping[str, Any]) -> bytes:
    """keccak256( keccak256("Name(type member,...)") | a word for each member )"""
    members = ",".join(f"{field['type']} {field['name']}" for field in fields)
    words = [_word(field["type"], values[field["name"]]) for field in fields]
    return keccak256(keccak256(f"{name}({members})".encode()) + b"".join(words))


def _word(kind: str, value: Any) -> bytes:
    """A member's 32 bytes."""
    if kind == "string":
        return keccak256(value.encode())
    if kind == "bytes" and value.startswith("0x"):
        return keccak256(bytes.fromhex(value[2:]))
    if kind == "bytes32" and _BYTES_WORD.fullmatch(value):
        return bytes.fromhex(value[2:])
    if kind == "address":
        return address_bytes(value).rjust(_WORD, b"\0")
    if kind == "bool":
        return {False: 0, True: 1}[value].to_bytes(_WORD, "big")
    if (uint := _UINT.fullmatch(kind)) and (bits := int(uint[1])) in range(8, 257, 8):
        number = int(value, 0) if isinstance(value, str) else value
        return number.to_bytes(bits // 8, "big").rjust(_WORD, b"\0")  # raises OverflowError outside the type's range
    raise ValueError(f"{value!r} cannot be encoded as {kind}")
