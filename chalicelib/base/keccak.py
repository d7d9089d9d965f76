"""The hash of Ethereum and Tron."""

def keccak256(data: bytes) -> bytes:
    """The 32 bytes of keccak-256, the padding that came before SHA-3 was standardised."""
    from Crypto.Hash import keccak

    return keccak.new(digest_bits=256, data=data).digest()
