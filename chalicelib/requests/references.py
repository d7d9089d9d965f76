"""Payment references: the 8 bytes that tie a payment on a chain to its request."""

from chalicelib.base.keccak import keccak256


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """The last 8 bytes of keccak256 of the lower-cased text request_id + salt + address.

    `address` is the payee's (or the refund address for a refund), as text: a Tron address is lower-cased too.
    """
    return keccak256((request_id + salt + address).lower().encode())[-8:]


def reference_topic(reference: bytes) -> str:
    """The topic of a payment event: `0x` and keccak256 of the raw reference, which is an indexed `bytes`."""
    return "0x" + keccak256(reference).hex()
