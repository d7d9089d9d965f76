"""The protocol `Signer`, and which signer a network has."""

from typing import Protocol

from chalicelib.base.errors import BadRequest
from chalicelib.base.signatures import Signature
from chalicelib.platform.services import Services


class Signer(Protocol):
    """The key of one account."""

    @property
    def address(self) -> str:
        """The account's address in EIP-55."""

    def sign(self, digest: bytes) -> Signature:
        """The signature over a digest of 32 bytes."""


class NoRelayer(BadRequest):
    """The deployment has no key for the network."""

    def __init__(self, network: str) -> None:
        super().__init__(
            f"This service sends no transactions on {network}: its operator has to set a key for it (RELAYER_KEYS)"
        )


def has_signer(services: Services, network: str) -> bool:
    """Whether the deployment sends transactions on a network. Reads the settings only."""
    return network in services.settings.relayer_keys


def signer_of(services: Services, network: str) -> Signer:
    """The signer of a network. Raises NoRelayer without a key for it."""
    kind = services.settings.relayer_keys.get(network)
    if kind == "kms":
        from chalicelib.relayer.keys.kms import KmsSigner

        return KmsSigner(services.signing_keys)
    if kind == "secret":
        from chalicelib.relayer.keys.secret import SecretSigner

        return SecretSigner(services.signing_keys.private_key)
    raise NoRelayer(network)
