"""Encoding and decoding of the 32-byte words of the contract ABI.

Our few calls have fixed layouts and are built from words directly, because importing an ABI library would take longer
at a cold start than the rest of this package. The tests compare the result with such a library.
"""

from chalicelib.base.addresses import address_bytes

WORD = 32


def members(text: str) -> tuple[tuple[str, str], ...]:
    """The names and types of arguments or members, of a text as Solidity writes them: `address to, uint256 amount`."""
    parts = (each.split() for each in text.split(","))
    return tuple((name, kind) for kind, name in parts)


def typed_members(listed: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    """Members of a struct as typed data (EIP-712) has them."""
    return [{"name": name, "type": kind} for name, kind in listed]


def uint_word(value: int) -> bytes:
    """A uint256, big-endian. Raises OverflowError if the value is below 0 or above 2**256 - 1."""
    return value.to_bytes(WORD, "big")


def address_word(address: str) -> bytes:
    """An EVM or Tron address: 12 zero bytes, then its 20 bytes."""
    return bytes(12) + address_bytes(address)


def bytes_tail(data: bytes) -> bytes:
    """The tail of a `bytes` argument: its length, then the data, padded with zeros to whole words."""
    return uint_word(len(data)) + data + bytes(-len(data) % WORD)


def call(selector: bytes, *words: bytes) -> str:
    """Calldata as 0x hex: the 4-byte selector of the function, then its arguments."""
    return "0x" + selector.hex() + b"".join(words).hex()


def read_uint(data: bytes, offset: int) -> int:
    """The uint256 at a byte offset of `data`. Raises ValueError if the data ends before its last byte."""
    if offset < 0 or offset + WORD > len(data):
        raise ValueError("the ABI data is shorter than it says")
    return int.from_bytes(data[offset : offset + WORD], "big")
