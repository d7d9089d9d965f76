"""Wallet signatures over messages and typed data, on EVM chains and Tron: their digests and their signers.

    EIP-191   keccak256("\\x19Ethereum Signed Message:\\n" | decimal length in bytes | message)
    TIP-191   keccak256("\\x19TRON Signed Message:\\n" | decimal length in bytes | message)       signMessageV2
    EIP-712   keccak256(0x1901 | hash of the domain | hash of the message)
    TIP-712   EIP-712 over the 20 bytes of each base58 address

A signature is r | s | v: 65 bytes. Tron's older signMessage (v1) hashes another text, so its signatures recover to a
wrong address. The signatures of contract wallets are checked on chain: `EvmChain.is_valid_signature`.
"""

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.base.addresses import address_bytes, evm_address, tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256

SIGNATURE_BYTES = 65
MAX_SIGNATURE_BYTES = 32 * 1024
"""Contract wallets have longer signatures. They are checked by a call whose init code may have 48 kB (EIP-3860)."""

SIGNATURE_PATTERN = f"^(0x)?[0-9a-fA-F]{{{2 * SIGNATURE_BYTES}}}([0-9a-fA-F]{{2}})*$"
_SIGNATURE = re.compile(f"(?:0x)?((?:[0-9a-fA-F]{{2}}){{{SIGNATURE_BYTES},{MAX_SIGNATURE_BYTES}}})")
_RECOVERY_ID = {0: 0, 1: 1, 27: 0, 28: 1}
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1: a signature with an s above it is refused (EIP-2), as each signature has two forms."""

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


@frozen
class Signature:
    """An ECDSA signature over secp256k1 with a low s, as transactions carry it; `recovery_id` is 0 or 1."""

    r: int
    s: int
    recovery_id: int


def signature_bytes(text: str) -> bytes:
    """Parses a signature: 65 bytes or more in hexadecimal, with or without 0x. Raises BadRequest."""
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise BadRequest(f"Invalid signature: use the hexadecimal digits of {SIGNATURE_BYTES} bytes or more")
    return bytes.fromhex(match[1])


def with_large_v(signature: bytes) -> bytes:
    """A key's signature with 27 or 28 as v, which tokens and Permit2 require; some wallets return 0 or 1."""
    is_small = len(signature) == SIGNATURE_BYTES and signature[64] < 2
    return signature[:64] + bytes([27 + signature[64]]) if is_small else signature


def recover_personal(message: str, signature: bytes) -> str | None:
    """The EIP-55 address that signed a message with personal_sign; None if the signature is invalid."""
    return recover_digest(personal_digest(message), signature)


def recover_tron(message: str, signature: bytes) -> str | None:
    """The base58 address that signed a message with signMessageV2; None if the signature is invalid."""
    signer = _signer(tron_digest(message), signature)
    return None if signer is None else tron_address_of(signer)


def recover_digest(digest: bytes, signature: bytes) -> str | None:
    """The EIP-55 address that signed a digest of 32 bytes.

    None if the signature does not have 65 bytes, its v is not 0, 1, 27 or 28, its s is high, or no key fits it. Every
    other signature recovers to some address, so the caller has to compare the address.
    """
    signer = _signer(digest, signature)
    return None if signer is None else evm_address("0x" + signer.hex())


def personal_digest(message: str) -> bytes:
    """EIP-191, version 0x45."""
    return _message_digest("Ethereum", message)


def tron_digest(message: str) -> bytes:
    """TIP-191, as used by signMessageV2."""
    return _message_digest("TRON", message)


def digest_of_typed_data(typed: Mapping[str, Any]) -> bytes:
    """The digest of `{domain, types, primaryType, message}`: EIP-712, or TIP-712 where addresses are base58.

    Supports one struct of string, bytes, bytes32, address, bool and uint members, without arrays and nested structs.
    Integers may be decimal or 0x text, bytes are 0x text. Raises ValueError, LookupError, OverflowError or BadRequest
    (for an address) if a value is not of its type. The types are set by the service, never by a caller.
    """
    domain, name = typed["domain"], typed["primaryType"]
    message = _struct_hash(name, typed["types"][name], typed["message"])
    return keccak256(b"\x19\x01" + domain_separator(domain) + message)


def domain_separator(domain: Mapping[str, Any]) -> bytes:
    """The hash of a domain with some of the members of EIP-712. Raises as `digest_of_typed_data`."""
    domain_type = [{"name": member, "type": kind} for member, kind in _DOMAIN if member in domain]
    return _struct_hash("EIP712Domain", domain_type, domain)


def _message_digest(chain: str, message: str) -> bytes:
    raw = message.encode()
    return keccak256(f"\x19{chain} Signed Message:\n{len(raw)}".encode() + raw)


def _signer(digest: bytes, signature: bytes) -> bytes | None:
    """The 20 address bytes of the key that made the signature: the end of keccak256 of the public key."""
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
    words = [member_word(field["type"], values[field["name"]]) for field in fields]
    return keccak256(keccak256(f"{name}({members})".encode()) + b"".join(words))


def member_word(kind: str, value: Any) -> bytes:
    """The 32 bytes that encode one member of a struct; for address, bool and uint they are those of the contract ABI.

    Raises the errors of `digest_of_typed_data`.
    """
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
