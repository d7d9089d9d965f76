"""Addresses that receive tokens: nobody gets back what is sent to a reserved address, or to a contract listed here."""

from collections.abc import Mapping
from functools import cache

from chalicelib.base.addresses import address_bytes, address_of_family
from chalicelib.base.errors import BadRequest
from chalicelib.chains.catalogue.contracts import DEPLOYER, UNIVERSAL_RESOLVER, contracts_on
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import find_tokens

OwnAddresses = Mapping[bytes, str]
"""What a deployment has beside the catalogue, by the 20 bytes of its address: "the contract of AuthCaptureEscrow"."""

RESERVED = 2**32
"""Addresses below are the zero address, code of the networks themselves (precompiles, those of Tron from 2**24 on too),
and 0xdEaD, to which tokens are sent to destroy them; the last so many are as useless."""
_OF_ROLLUPS = range(0x4200 << 144, (0x4200 << 144) + 2048)
"""Code of optimism and base, or of none yet."""
_NATIVE_COIN = 0xEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE
"""By which wallets and routers mean the native coin where they need the address of a token."""


def parse_recipient(text: str, family: str, own: OwnAddresses) -> str:
    """The address of a recipient in its canonical spelling (`address_of_family`).

    Raises BadRequest, also for reserved addresses, for contracts and tokens of the catalogue on any network, and for
    the addresses of `own`.
    """
    address = address_of_family(text, family)
    raw = address_bytes(address)
    if not any(raw):
        raise BadRequest("is the zero address: funds sent there are lost")
    if _is_reserved(int.from_bytes(raw)):
        raise BadRequest("is an address that nobody has the key of: funds sent there are lost")
    if (name := _contracts().get(raw) or own.get(raw)) is not None:
        raise BadRequest(f"is {name}, which sends nothing on: funds sent there are lost")
    return address


def _is_reserved(number: int) -> bool:
    return number < RESERVED or number >= 2**160 - RESERVED or number in _OF_ROLLUPS or number == _NATIVE_COIN


@cache
def _contracts() -> dict[bytes, str]:
    """What the contracts and tokens of all networks are, by the 20 bytes of their addresses."""
    deployed = ((address, name) for chain in ALL_NETWORKS for name, address in contracts_on(chain.name).items())
    tokens = ((token.address, token.id) for token in find_tokens() if not token.is_native and not token.is_fiat)
    others = ((DEPLOYER, "the deterministic deployer"), (UNIVERSAL_RESOLVER, "ENS's universal resolver"))
    return {address_bytes(address): f"the contract of {name}" for address, name in (*deployed, *tokens, *others)}
