"""Blooms of blocks: 2,048 bits, of which each address and each topic of a log in the block sets three.

Bits that are not set prove that a block has no such log; bits that are set prove nothing (yellow paper, 4.3.1).
"""

from collections.abc import Iterable
from functools import cache

from chalicelib.base.keccak import keccak256

Event = tuple[bytes, ...]
"""A contract, 20 bytes, and the first topics, 32 bytes each, of events that it only emits together."""


def may_have(bloom: bytes, events: Iterable[Event]) -> bool:
    """Whether a block with this bloom may have one of these events; False is a proof that it has none of them.

    Contract and topics are looked for together: of the blocks of a busy network a fifth have the bits of either by
    chance, and a twentieth those of both.
    """
    bits = int.from_bytes(bloom, "big")
    return any(bits & mask == mask for mask in map(_mask, events))


@cache
def _mask(event: Event) -> int:
    """The bits of an event, three for each value, bit 0 being the lowest of the last byte."""
    mask = 0
    for value in event:
        digest = keccak256(value)
        for place in (0, 2, 4):
            mask |= 1 << (int.from_bytes(digest[place : place + 2], "big") & 2047)
    return mask
