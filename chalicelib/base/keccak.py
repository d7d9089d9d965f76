"""Keccak-256, the hash function of Ethereum and Tron."""


def keccak256(data: bytes) -> bytes:
    """The 32 bytes of the original Keccak-256, whose padding differs from standard SHA3-256."""
    from Crypto.Hash import keccak

    return keccak.new(digest_bits=256, data=data).digest()
