"""Calldata read back, strictly: the one canonical layout of each function we write, or ValueError.

Canonical means: what has no fixed size begins exactly where the part before it ended, padding is zeros, and nothing
follows. Two texts of bytes never read as the same call, so what is read is what is signed.
"""

from dataclasses import dataclass
from typing import Any

from chalicelib.calldata.abi import WORD, bytes_tail, read_uint

SELECTOR = 4


@dataclass(frozen=True)
class Array:
    """Any number of one kind."""

    of: "Kind"


Kind = str | Array | tuple["Kind", ...]
"""`address`, `uint256`, `bytes`, an array, or a struct; a struct holds at least one part without a fixed size."""


def read(kinds: tuple[Kind, ...], data: bytes) -> tuple[Any, ...]:
    """The arguments: addresses as their 20 bytes, whole numbers, bytes; tuples for arrays and structs.

    Raises ValueError when the data is anything but their canonical encoding.
    """
    values, end = _struct(kinds, data, 0)
    if end != len(data):
        raise ValueError("the data is longer than its arguments")
    return values


def type_text(kind: Kind) -> str:
    """The type as Solidity writes it: `(uint256,address[])[]`."""
    if isinstance(kind, Array):
        return type_text(kind.of) + "[]"
    return kind if isinstance(kind, str) else f"({','.join(map(type_text, kind))})"


def _struct(kinds: tuple[Kind, ...], data: bytes, start: int) -> tuple[tuple[Any, ...], int]:
    """The values from `start`, and where they end: a word each, then what has no fixed size."""
    values: list[Any] = []
    end = start + WORD * len(kinds)
    for position, kind in enumerate(kinds):
        at = start + WORD * position
        word = read_uint(data, at)
        if kind == "uint256":
            values.append(word)
        elif kind == "address":
            if word >> 160:
                raise ValueError("a word is no address")
            values.append(data[at + 12 : at + WORD])
        elif word != end - start:
            raise ValueError("an argument is not where it belongs")
        else:
            value, end = _sized(kind, data, end)
            values.append(value)
    return tuple(values), end


def _sized(kind: Kind, data: bytes, start: int) -> tuple[Any, int]:
    """A value without a fixed size, and where it ends."""
    if isinstance(kind, tuple):
        return _struct(kind, data, start)
    length, first = read_uint(data, start), start + WORD
    if length > len(data):
        raise ValueError("the ABI data is shorter than it says")
    if isinstance(kind, Array):
        return _struct((kind.of,) * length, data, first)
    raw = data[first : first + length]
    end = start + len(bytes_tail(raw))
    if len(raw) != length or data[start:end] != bytes_tail(raw):
        raise ValueError("bytes are not padded with zeros")
    return raw, end
