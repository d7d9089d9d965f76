"""RLP, the encoding of headers and receipts (Ethereum yellow paper, appendix B), and the root of a trie of such values.

    a byte below 0x80    itself
    bytes                0x80 + length, the bytes; from 56 bytes on 0xb7 + length of the length, the length, the bytes
    a list               0xc0 + length, its items encoded; from 56 bytes on 0xf7 + length of the length, ...

The trie (appendix D) has one path for each key, in nibbles of four bits. A node is a leaf or an extension, [path, what
follows], or a branch, [16 nodes, value]; a node of 32 bytes or more stands in the one above by its Keccak-256.
"""

from collections.abc import Sequence
from typing import TypeAlias

from chalicelib.base.keccak import keccak256

Rlp: TypeAlias = "bytes | Sequence[Rlp]"
_Items = Sequence[tuple[bytes, bytes]]
"""Keys, one nibble in each byte, with their values, in the order of the keys."""


def encode(item: Rlp) -> bytes:
    if isinstance(item, bytes):
        return item if len(item) == 1 and item[0] < 0x80 else _add_prefix(0x80, item)
    return _add_prefix(0xC0, b"".join([encode(each) for each in item]))


def integer(number: int) -> bytes:
    """A number that is not negative as RLP has it: big-endian, as short as possible, 0 without any byte."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def list_root(values: Sequence[bytes]) -> bytes:
    """The root of the trie that has each value at the key of its position, as those of transactions and receipts."""
    items = sorted((_nibbles(encode(integer(position))), value) for position, value in enumerate(values))
    root = _node(items, 0)
    return root if isinstance(root, bytes) and len(root) == 32 else keccak256(encode(root))


def _add_prefix(kind: int, payload: bytes) -> bytes:
    if len(payload) < 56:
        return bytes([kind + len(payload)]) + payload
    length = integer(len(payload))
    return bytes([kind + 55 + len(length)]) + length + payload


def _node(items: _Items, depth: int) -> Rlp:
    """The node above the items, whose keys are the same in the first `depth` nibbles, as it stands in its parent."""
    if not items:
        return b""
    (first, value), last = items[0], items[-1][0]
    if len(items) == 1:
        node: Rlp = [_path(first[depth:], True), value]
    elif first[depth] == last[depth]:
        end = next(place for place in range(depth, len(first)) if first[place] != last[place])
        node = [_path(first[depth:end], False), _node(items, end)]
    else:
        branches = ([each for each in items if each[0][depth] == nibble] for nibble in range(16))
        node = [*(_node(branch, depth + 1) for branch in branches), b""]
    encoded = encode(node)
    return node if len(encoded) < 32 else keccak256(encoded)


def _path(nibbles: bytes, is_leaf: bool) -> bytes:
    """Nibbles in pairs, after one or two that say whether they are of a leaf and whether their number is odd."""
    odd = len(nibbles) % 2
    whole = bytes([2 * is_leaf + odd]) + (b"" if odd else b"\0") + nibbles
    return bytes(high << 4 | low for high, low in zip(whole[::2], whole[1::2], strict=True))


def _nibbles(key: bytes) -> bytes:
    return bytes(nibble for byte in key for nibble in (byte >> 4, byte & 15))
