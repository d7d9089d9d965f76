"""What it costs to know that no payment was left out: JSON-RPC calls beside those that list the logs."""

from functools import cache

from chalicelib.chains.catalogue.networks import ALL_NETWORKS, require_network
from tests.bench.figures import Figure
from tests.bench.steps import IdleNetwork, idle_network, idle_networks

BLOCKS = 1_000
_GOALS = {1: 1, 2: 1.2}
"""How many times the calls that list the logs it may cost, by the number of nodes."""


def measure() -> list[Figure]:
    """By network, with one node and with two; compared with the calls of a reading without any check."""
    return [
        Figure(f"{name}, {label}", extra_calls(name, nodes), "calls", "to list the logs", listing_calls(name), _GOALS[nodes])
        for name in (each.name for each in ALL_NETWORKS)
        for nodes, label in ((1, "one node"), (2, "two nodes"))
    ]


def extra_calls(network: str, nodes: int) -> float:
    """The calls for headers, receipts and other nodes, for each 1,000 blocks."""
    return _calls(network, nodes) - listing_calls(network)


def listing_calls(network: str) -> float:
    """The calls for each 1,000 blocks with one node and no check."""
    return _calls(network, 1, 0)


def with_two_nodes() -> list[IdleNetwork]:
    """Every network as it is read by two nodes, with the calls of both."""
    return [_read(each.name, 2, None) for each in ALL_NETWORKS]


def _calls(network: str, nodes: int, every: int | None = None) -> float:
    read = _read(network, nodes, every)
    return read.calls / read.blocks * BLOCKS


@cache
def _read(network: str, nodes: int, every: int | None) -> IdleNetwork:
    if (nodes, every) == (1, None):
        return next(each for each in idle_networks() if each.name == network)
    settings = {} if every is None else {"headers_every": {network: every}}
    return idle_network(require_network(network), nodes, **settings)
