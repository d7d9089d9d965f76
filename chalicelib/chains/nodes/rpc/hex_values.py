"""Reads the numbers and hashes of JSON-RPC responses, which are hexadecimal text."""

import re

_QUANTITY = re.compile("0x[0-9a-fA-F]{1,64}")
_HASH = re.compile("0x[0-9a-f]{64}")


def quantity(text: str, end: int = 2**64) -> int:
    """The number of a quantity (`0x1f`). Raises ValueError or TypeError unless it is one, from 0 to below `end`.

    int(text, 16) alone also accepts signs, underscores, spaces and any length.
    """
    if not _QUANTITY.fullmatch(text) or (number := int(text, 16)) >= end:
        raise ValueError("a number is not one, or out of its range")
    return number


def hash_of(text: str) -> str:
    """A hash of 32 bytes as 0x and 64 lower-case digits. Raises ValueError or AttributeError for anything else."""
    lower = text.lower()
    if not _HASH.fullmatch(lower):
        raise ValueError("a hash is not 32 bytes")
    return lower
