"""Recomputes the hash of a block from the header that a node answers: keccak256 of its fields in RLP.

One rule holds for the seven EVM networks: what forks added is at the end, and each network has some of it. A node
answers more than the header. What is known not to be hashed is ignored. With a key that is not known the hash is not
recomputed: it may be a field of a fork that this code does not know, and then a wrong hash is no proof of a lie.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.chains.proofs.rlp import Rlp, encode, integer

Fields = tuple[tuple[str, int], ...]
"""Names as in JSON-RPC, with the number of bytes; 0 of a number, -1 of bytes of any length."""
_FIRST: Fields = (
    ("parentHash", 32), ("sha3Uncles", 32), ("miner", 20), ("stateRoot", 32), ("transactionsRoot", 32),
    ("receiptsRoot", 32), ("logsBloom", 256), ("difficulty", 0), ("number", 0), ("gasLimit", 0), ("gasUsed", 0),
    ("timestamp", 0), ("extraData", -1), ("mixHash", 32), ("nonce", 8),
)
"""What every header has."""
_LATER: Fields = (
    ("baseFeePerGas", 0),  # EIP-1559
    ("withdrawalsRoot", 32),  # EIP-4895
    ("blobGasUsed", 0), ("excessBlobGas", 0),  # EIP-4844
    ("parentBeaconBlockRoot", 32),  # EIP-4788
    ("requestsHash", 32),  # EIP-7685
    ("blockAccessListHash", 32),  # EIP-7928
    ("slotNumber", 0),  # EIP-7843
)
"""What later forks have added, in the order in which it is hashed; what is left out before others is empty."""
_IGNORED = frozenset(
    {
        "hash", "size", "totalDifficulty", "transactions", "uncles", "withdrawals", "author", "sealFields",
        "l1BlockNumber", "sendCount", "sendRoot",  # of arbitrum-one: they are in mixHash and extraData
        "milliTimestamp",  # of bsc: it is in mixHash
    }
)
"""What nodes answer beside the header."""
_KNOWN = frozenset(name for name, _ in (*_FIRST, *_LATER)) | _IGNORED
_HEX = re.compile("0x[0-9a-fA-F]*")
_LARGEST = 2**256


@frozen
class Header:
    """A header whose hash is that of its fields. Hashes are 0x and 64 lower-case digits; `bloom` has 256 bytes."""

    number: int
    hash: str
    parent_hash: str
    receipts_root: bytes
    bloom: bytes


@frozen
class Forged:
    """A header with a hash that its fields do not give, although all of them are known."""

    number: int


@frozen
class NotChecked:
    """A header whose hash cannot be recomputed, and why."""

    number: int
    reason: str


Checked = Header | Forged | NotChecked


def check_header(number: int, block: Any) -> Checked:
    """Recomputes the hash of a block from its JSON, whatever that is. `number` is that of the block asked for."""
    if not isinstance(block, Mapping):
        return NotChecked(number, "the node does not have a header")
    if unknown := sorted(map(str, block.keys() - _KNOWN)):
        return NotChecked(number, f"a header has the unknown key {unknown[0][:40]}")
    later = [field for field in _LATER if block.get(field[0]) is not None]
    fields = (*_FIRST, *(_LATER[: _LATER.index(later[-1]) + 1] if later else ()))
    if missing := [name for name, _ in _FIRST if block.get(name) is None]:
        return NotChecked(number, f"a header has no {missing[0]}")
    try:
        values = {name: _value(block[name], size) for name, size in fields if block.get(name) is not None}
    except (ValueError, TypeError, AttributeError):
        return NotChecked(number, "a field of a header does not have the documented form")
    hashed: list[Rlp] = [values.get(name, b"") for name, _ in fields]
    found = "0x" + keccak256(encode(hashed)).hex()
    if integer(number) != values["number"] or str(block.get("hash")).lower() != found:
        return Forged(number)
    return Header(number, found, "0x" + values["parentHash"].hex(), values["receiptsRoot"], values["logsBloom"])


def find_broken_link(headers: Sequence[Checked], last: str) -> str | None:
    """Why headers do not prove what they say, in words; None if each is checked, links to the one before it, and the
    last one has the hash `last`."""
    parent = None
    for each in headers:
        if isinstance(each, NotChecked):
            return each.reason
        if isinstance(each, Forged):
            return f"the hash of block {each.number} is not that of its fields"
        if parent is not None and each.parent_hash != parent:
            return f"block {each.number} does not link to the block before it"
        parent = each.hash
    return None if headers and parent == last else "the headers do not lead to the last block"


def _value(text: Any, size: int) -> bytes:
    """Raises ValueError, TypeError or AttributeError unless it is 0x and hexadecimal digits, as many as expected."""
    if not _HEX.fullmatch(text):
        raise ValueError("not hexadecimal")
    if size == 0:
        number = int(text[2:], 16)
        if number >= _LARGEST:
            raise ValueError("a number is too large")
        return integer(number)
    raw = bytes.fromhex(text[2:])
    if size not in (-1, len(raw)):
        raise ValueError("a field has another length")
    return raw
