"""Addresses that receive tokens: nobody gets back what is sent to the zero address, or to a contract listed here."""

from functools import cache

from chalicelib.base.addresses import address_bytes, address_of_family
from chalicelib.base.errors import BadRequest
from chalicelib.chains.catalogue.contracts import deployed_on
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import find_tokens


def recipient(text: str, family: str) -> str:
    """The address of a recipient in its canonical spelling (`address_of_family`).

    Raises BadRequest, also for the zero address and for contracts and tokens of the catalogue on any network.
    """
    address = address_of_family(text, family)
    raw = address_bytes(address)
    if not any(raw):
        raise BadRequest("is the zero address: funds sent there are lost")
    if (name := _contracts().get(raw)) is not None:
        raise BadRequest(f"is the contract of {name}, which sends nothing on: funds sent there are lost")
    return address


@cache
def _contracts() -> dict[bytes, str]:
    """The names of the contracts and tokens of all networks, by the 20 bytes of their addresses."""
    deployed = ((address, name) for chain in ALL_NETWORKS for name, address in deployed_on(chain.name).items())
    tokens = ((token.address, token.id) for token in find_tokens() if not token.is_native and not token.is_fiat)
    return {address_bytes(address): name for address, name in (*deployed, *tokens)}
