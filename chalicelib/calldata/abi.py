"""The words of the contract ABI that our calls are made of.

The layouts of our few calls are fixed, so they are joined from words directly: importing an ABI library would
cost a cold start more than everything else in this package. The tests hold the result against such a library.
"""

from chalicelib.base.addresses import address_bytes

WORD = 32


def uint_word(value: int) -> bytes:
    """A uint256, big-endian. Raises OverflowError below 0 and above 2**256 - 1."""
    return value.to_bytes(WORD, "big")


def address_word(address: str) -> bytes:
    """An address, EVM or Tron: its 20 bytes to the right."""
    return bytes(12) + address_bytes(address)


def bytes_tail(data: bytes) -> bytes:
    """The tail of a `bytes` argument: its length, then the data padded with zeros to whole words."""
    return uint_word(len(data)) + data + bytes(-len(data) % WORD)


def call(selector: bytes, *words: bytes) -> str:
    """Calldata as 0x hex: the 4-byte selector of the function, then its arguments."""
    return "0x" + selector.hex() + b"".join(words).hex()


def read_uint(data: bytes, at: int) -> int:
    """The uint256 that begins `at` bytes into `data`. Raises ValueError when the data ends before it does."""
    if at < 0 or at + WORD > len(data):
        raise ValueError("the ABI data is shorter than it says")
    return int.from_bytes(data[at : at + WORD], "big")
