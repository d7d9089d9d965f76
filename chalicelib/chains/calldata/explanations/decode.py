"""Decoding of calldata, which accepts only the canonical encoding of each function and raises ValueError otherwise.

Canonical means that each dynamic value begins where the part before it ends, padding is zeros, and no bytes follow.
Different bytes never decode to the same call, so the decoded call is exactly the one that is signed.
"""

from functools import cache
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD, read_uint

SELECTOR = 4
_NO_HIGH_BYTES = bytes(12)


@frozen
class Array:
    """An array of any length whose members have one type."""

    of: "Kind"


Kind = str | Array | tuple["Kind", ...]
"""An ABI type: `address`, a number of NUMBERS, `bytes`, an array, or a struct with at least one dynamic member.

The members of a struct without one stand in its place.
"""

NUMBERS = {
    "uint256": 256,
    "bytes32": 256,
    "uint128": 128,
    "uint120": 120,
    "uint48": 48,
    "uint32": 32,
    "uint16": 16,
    "uint8": 8,
    "bool": 1,
}
"""The bits of each type of number; a bool is one of one bit, and bytes32 are read as one."""


def read(kinds: tuple[Kind, ...], data: bytes) -> tuple[Any, ...]:
    """Decodes arguments: addresses to their 20 bytes, numbers to int, bytes to bytes, arrays and structs to tuples.

    Raises ValueError unless the data is their canonical encoding.
    """
    values, end = _struct(kinds, data, 0)
    if end != len(data):
        raise ValueError("the data is longer than its arguments")
    return values


@cache
def type_text(kind: Kind) -> str:
    """The type as Solidity writes it: `(uint256,address[])[]`."""
    if isinstance(kind, Array):
        return type_text(kind.of) + "[]"
    return kind if isinstance(kind, str) else f"({','.join(map(type_text, kind))})"


def _struct(kinds: tuple[Kind, ...], data: bytes, start: int) -> tuple[tuple[Any, ...], int]:
    """Decodes the values at `start` and returns them with their end: one word each, then the dynamic values."""
    values: list[Any] = []
    end = start + WORD * len(kinds)
    if end > len(data):
        raise ValueError("the ABI data is shorter than it says")
    following = start
    for kind in kinds:
        offset, following = following, following + WORD
        word = data[offset:following]
        if kind == "address":
            if not word.startswith(_NO_HIGH_BYTES):
                raise ValueError("a word is too large for address")
            values.append(word[12:])
        elif type(kind) is str and kind in NUMBERS:
            number = int.from_bytes(word, "big")
            if number >> NUMBERS[kind]:
                raise ValueError(f"a word is too large for {kind}")
            values.append(number)
        elif int.from_bytes(word, "big") != end - start:
            raise ValueError("an argument is not where it belongs")
        else:
            value, end = _dynamic(kind, data, end)
            values.append(value)
    return tuple(values), end


def _dynamic(kind: Kind, data: bytes, start: int) -> tuple[Any, int]:
    """Decodes the value of a dynamic type at `start` and returns it with its end."""
    if isinstance(kind, tuple):
        return _struct(kind, data, start)
    length, first = read_uint(data, start), start + WORD
    if length > len(data) - first:  # before an array of so many members is built
        raise ValueError("the ABI data is shorter than it says")
    if isinstance(kind, Array):
        return _struct((kind.of,) * length, data, first)
    end = first + length + -length % WORD
    raw, padding = data[first : first + length], data[first + length : end]
    if len(padding) != -length % WORD or any(padding):
        raise ValueError("bytes are not padded with zeros")
    return raw, end
