"""Signs with a private key, for test networks."""

from functools import cached_property

from chalicelib.base.addresses import evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import Signature


class SecretSigner:
    """A `Signer` with a private key of 32 bytes."""

    def __init__(self, private_key: bytes) -> None:
        self._private_key = private_key

    @cached_property
    def address(self) -> str:
        from coincurve import PublicKey

        public = PublicKey.from_valid_secret(self._private_key).format(compressed=False)
        return evm_address("0x" + keccak256(public[1:])[-20:].hex())

    def sign(self, digest: bytes) -> Signature:
        from coincurve import PrivateKey

        raw = PrivateKey(self._private_key).sign_recoverable(digest, hasher=None)  # its s is low
        return Signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big"), raw[64])
