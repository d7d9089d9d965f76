"""The protocol `Signer`, and which signers a network has."""

from typing import Protocol

from chalicelib.base.errors import BadRequest
from chalicelib.base.signatures import Signature
from chalicelib.platform.services import Services
from chalicelib.platform.storage.secrets import SigningKeys
from chalicelib.relayer.records import Role


class Signer(Protocol):
    """The key of one account."""

    @property
    def address(self) -> str:
        """The account's address in EIP-55."""

    def sign(self, digest: bytes) -> Signature:
        """The signature over a digest of 32 bytes."""


class NoRelayer(BadRequest):
    """The deployment has no key for the network, or makes no gasless payments on it."""

    def __init__(self, network: str, role: Role = Role.SERVICE) -> None:
        super().__init__(
            f"This service makes no gasless payments on {network}: pay with a transaction"
            if role is Role.GASLESS
            else f"This service sends no transactions on {network}: its operator has to set a key for it (RELAYER_KEYS)"
        )


def has_signer(services: Services, network: str, role: Role = Role.SERVICE) -> bool:
    """Whether the deployment sends transactions of this account on a network. Reads settings, and for gasless payments
    the secret with the node URLs."""
    has_key = network in services.settings.relayer_keys
    return has_key and (role is Role.SERVICE or network in gasless_accounts(services))


def signer_of(services: Services, network: str, role: Role = Role.SERVICE) -> Signer:
    """The signer of an account on a network. Raises NoRelayer without a key for it."""
    if not has_signer(services, network, role):
        raise NoRelayer(network, role)
    keys = services.signing_keys if role is Role.SERVICE else services.signing_keys.with_name(f"{role.value}-{network}")
    return _signer(services.settings.relayer_keys[network], keys)


def tron_signer(services: Services, kind: str) -> Signer:
    """The signer that delegates what the operator's stake on Tron gives, of a `kind` as in RELAYER_KEYS. Its address is
    in EIP-55, too."""
    return _signer(kind, services.signing_keys.with_name("energy-tron"))


def signers_of(services: Services, network: str) -> tuple[Signer, ...]:
    """The signers of all accounts of the service on a network."""
    return tuple(signer_of(services, network, role) for role in Role if has_signer(services, network, role))


def gasless_accounts(services: Services) -> dict[str, str]:
    """The account of gasless payments on each network that has them, as the operator names it in the entry
    `gasless_networks`: a text such as `base=0x...,optimism=0x...`. Empty where the entry has the network alone."""
    pairs = (each.partition("=") for each in (services.secrets.gasless_networks or "").split(","))
    return {name.strip(): account.strip() for name, _, account in pairs if name.strip()}


def _signer(kind: str, keys: SigningKeys) -> Signer:
    if kind == "kms":
        from chalicelib.relayer.keys.kms import KmsSigner

        return KmsSigner(keys)
    from chalicelib.relayer.keys.secret import SecretSigner

    return SecretSigner(keys.private_key)
