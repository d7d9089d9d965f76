"""Signs with a key of AWS KMS (ECC_SECG_P256K1), which never leaves it.

KMS returns ECDSA signatures in DER, with an s that may be high, and no recovery id:

    30 | length | 02 | length of r | r | 02 | length of s | s

The integers are signed, so 00 stands before a high first bit.

Chains accept only a low s (EIP-2): n - s is as valid. The recovery id says which of two public keys fits the
signature: both are tried. The public key is a SubjectPublicKeyInfo, which ends with the 65 bytes 04 | x | y.
"""

from functools import cached_property

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import Signature, recover_digest
from chalicelib.platform.storage.secrets import SigningKeys

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order n of secp256k1."""
_POINT_BYTES = 65
_SEQUENCE, _INTEGER, _UNCOMPRESSED = b"\x30", b"\x02", 0x04


class KmsSigner:
    """A `Signer` with the deployment's KMS key."""

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys

    @cached_property
    def address(self) -> str:
        point = self._keys.public_key[-_POINT_BYTES:]
        if len(point) != _POINT_BYTES or point[0] != _UNCOMPRESSED:
            raise ValueError("the KMS key is not one of ECC_SECG_P256K1")
        return evm_address("0x" + keccak256(point[1:])[-20:].hex())

    def sign(self, digest: bytes) -> Signature:
        """One KMS call. Raises ValueError if the signature is not by the key of the address."""
        r, s = integers_of(self._keys.sign(digest))
        s = min(s, ORDER - s)
        for recovery_id in (0, 1):
            raw = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([recovery_id])
            signer = recover_digest(digest, raw)
            if signer is not None and same_address(signer, self.address):
                return Signature(r, s, recovery_id)
        raise ValueError("KMS signed with another key than that of the address")


def integers_of(der: bytes) -> tuple[int, int]:
    """r and s of a signature in DER. Raises ValueError for anything else, also for integers out of range."""
    if der[:1] != _SEQUENCE or int.from_bytes(der[1:2], "big") != len(der) - 2:
        raise ValueError("a signature of KMS is not a DER sequence")
    r, rest = _integer(der[2:])
    s, rest = _integer(rest)
    if rest or not 0 < r < ORDER or not 0 < s < ORDER:
        raise ValueError("a signature of KMS does not hold two integers of secp256k1")
    return r, s


def _integer(der: bytes) -> tuple[int, bytes]:
    """The first integer, and what follows it. Integers here are below 2**257, so one byte holds their length."""
    end = 2 + int.from_bytes(der[1:2], "big")
    if der[:1] != _INTEGER or len(der) < end:
        raise ValueError("a signature of KMS does not hold an integer where it should")
    return int.from_bytes(der[2:end], "big", signed=True), der[end:]
