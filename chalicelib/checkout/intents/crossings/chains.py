"""The chains of a payment from another one: their entries in the catalogue, and how far they are read."""

from typing import TYPE_CHECKING

from chalicelib.catalogue.networks import Network, network
from chalicelib.services import Services

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain

RANGES_PER_CHECK = 5
"""How many ranges of blocks are searched for one event in one check."""


def known_network(name: str) -> Network:
    """The network with a name that is stored: it is in the catalogue."""
    known = network(name)
    assert known is not None, "what is stored is on a catalogued network"
    return known


def newest_deep(services: Services, chain: "EvmChain") -> int:
    """The newest block of a chain that is deep enough. One request."""
    known = known_network(chain.network)
    return max(chain.head() - services.settings.confirmations.get(known.name, known.confirmations) + 1, 0)
