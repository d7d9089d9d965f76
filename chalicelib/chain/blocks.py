"""Blocks: their hashes and times, and whether a node is of the chain that it is configured for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network
from chalicelib.chain.jsonrpc import JsonRpcClient, block_at, unavailable_if_malformed


@unavailable_if_malformed
def block_hashes(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, str]:
    """The canonical hash at each height now. Raises ChainUnavailable where the node does not have a height."""
    return {number: block["hash"].lower() for number, block in _blocks(node, numbers).items()}


@unavailable_if_malformed
def block_times(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, datetime]:
    """When each block was made (UTC). Raises ChainUnavailable where the node does not have a height."""
    found = _blocks(node, numbers)
    return {number: datetime.fromtimestamp(int(block["timestamp"], 16), UTC) for number, block in found.items()}


def check_chain_id(name: str, chain_id: str) -> None:
    """Raises ChainUnavailable unless a node's eth_chainId is that of the network.

    The native fee proxy has one address on several chains: with a node of the wrong chain, coins of little value would
    count as ones of much.
    """
    known, found = network(name), int(chain_id, 16)
    if known is None or found != known.chain_id:
        raise ChainUnavailable(f"The node for {name} is of chain {found}")


def _blocks(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """The headers by their heights, each read once."""
    distinct = list(dict.fromkeys(numbers))
    blocks = node.results([block_at(number) for number in distinct])
    if not all(blocks):
        raise ChainUnavailable(f"The {node.network} node lags behind what it knew before")
    return dict(zip(distinct, blocks, strict=True))
