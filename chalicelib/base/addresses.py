"""Addresses of EVM chains (hex, EIP-55) and of Tron (base58check): validation, comparison and conversion."""

import hashlib
import re
from functools import lru_cache

from chalicelib.base.errors import InvalidAddress
from chalicelib.base.keccak import keccak256

ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"
DEAD_ADDRESS = "0x000000000000000000000000000000000000dEaD"

_EVM = re.compile(r"0x[0-9a-fA-F]{40}")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_TRON = re.compile(f"T[{_BASE58}]{{33}}")
_TRON_PREFIX = 0x41


def evm_address(text: str) -> str:
    """Returns an EVM address in its EIP-55 spelling.

    Digits that are all lower case or all upper case carry no checksum and are accepted. Mixed case must match the
    EIP-55 checksum, because a mismatch means that the address was mistyped. Raises BadRequest.
    """
    if _EVM.fullmatch(text) is None:
        raise InvalidAddress("Invalid EVM address: use 0x followed by 40 hexadecimal digits")
    digits = text[2:]
    checksummed = _eip55(digits.lower())
    if digits != checksummed[2:] and digits != digits.lower() and digits != digits.upper():
        raise InvalidAddress("Invalid EVM address: its upper and lower case do not match the EIP-55 checksum")
    return checksummed


def evm_address_of(raw: bytes) -> str:
    """Returns the EIP-55 text of an EVM address from its 20 bytes."""
    if len(raw) != 20:
        raise ValueError("an address has 20 bytes")
    return _eip55(raw.hex())


def tron_address(text: str) -> str:
    """Returns the text unchanged if it is a Tron address (base58check of 0x41 and 20 bytes), else raises BadRequest.

    Base58 is case-sensitive, so the case of the letters is kept.
    """
    _tron_bytes(text)
    return text


def tron_to_evm(text: str) -> str:
    """Returns the 20 bytes of a Tron address as lower-case 0x hex, as nodes use them. Raises BadRequest."""
    return "0x" + _tron_bytes(text).hex()


def tron_address_of(raw: bytes) -> str:
    """Returns the base58 text of a Tron address from its 20 bytes (without the prefix 0x41)."""
    if len(raw) != 20:
        raise ValueError("an address has 20 bytes")
    payload = bytes([_TRON_PREFIX]) + raw
    number = int.from_bytes(payload + _checksum(payload), "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = _BASE58[digit] + text
    return text


def address_of_family(text: str, family: str) -> str:
    """Returns the canonical spelling of an address of a network's family, `evm` or `tron`. Raises BadRequest."""
    return tron_address(text) if family == "tron" else evm_address(text)


@lru_cache(maxsize=4096)
def address_bytes(text: str) -> bytes:
    """Returns the 20 bytes of an EVM or Tron address. Raises ValueError or BadRequest if it is not a valid one."""
    if not text.startswith("0x"):
        return _tron_bytes(text)
    raw = bytes.fromhex(text[2:])
    if len(raw) != 20:
        raise ValueError("an EVM address has 20 bytes")
    return raw


def hex_address(text: str) -> str:
    """Returns the 20 bytes of a valid EVM or Tron address as lower-case 0x hex, the form of addresses in logs."""
    return "0x" + address_bytes(text).hex()


def address_of_log(text: str, family: str) -> str:
    """Converts the hex address of a log to the spelling that callers use: EIP-55, or base58 on tron."""
    return tron_address_of(address_bytes(text)) if family == "tron" else evm_address(text)


def same_address(a: str, b: str) -> bool:
    """Whether two texts name the same address. EVM addresses are compared without case, Tron addresses exactly."""
    if a.startswith("0x") and b.startswith("0x"):
        return a.lower() == b.lower()
    return a == b


@lru_cache(maxsize=4096)
def _eip55(lower_digits: str) -> str:
    """EIP-55: a letter is upper case where the hex digit of keccak256(text) at its position is 8 or more."""
    digest = keccak256(lower_digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble >= "8" else digit for digit, nibble in zip(lower_digits, digest, strict=False)
    )


def _tron_bytes(text: str) -> bytes:
    """Decodes base58check( 0x41 | 20 bytes ); the checksum is the first 4 bytes of a double SHA-256."""
    if _TRON.fullmatch(text) is not None:
        number = 0
        for character in text:
            number = number * 58 + _BASE58.index(character)
        raw = number.to_bytes(25, "big")  # 58**34 < 2**200
        payload, checksum = raw[:21], raw[21:]
        if payload[0] == _TRON_PREFIX and checksum == _checksum(payload):
            return payload[1:]
    raise InvalidAddress("Invalid Tron address: use the 34 characters that start with T, in their exact case")


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
