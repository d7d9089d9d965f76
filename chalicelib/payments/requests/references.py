"""Payment references: the 8 bytes in a payment on a chain that identify its request."""

from chalicelib.base.keccak import keccak256


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """The last 8 bytes of keccak256 of the lower-cased text request_id + salt + address.

    `address` is the payee's address as text (for a refund: of the receiver of the refund). Tron addresses, too, are
    lower-cased.
    """
    return keccak256((request_id + salt + address).lower().encode())[-8:]


def reference_topic(reference: bytes) -> str:
    """The topic of a payment event: `0x` and keccak256 of the raw reference, which is an indexed `bytes`."""
    return "0x" + keccak256(reference).hex()
