"""Hashes and times of blocks, and the check that a node serves the chain it is configured for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network
from chalicelib.chain.jsonrpc import JsonRpcClient, block_at, unavailable_if_malformed


@unavailable_if_malformed
def block_hashes(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, str]:
    """The current canonical hash at each height. Raises ChainUnavailable if the node does not have a block."""
    return {number: block["hash"].lower() for number, block in _blocks(node, numbers).items()}


@unavailable_if_malformed
def block_times(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, datetime]:
    """The time (UTC) of each block. Raises ChainUnavailable if the node does not have a block."""
    blocks = _blocks(node, numbers)
    return {number: datetime.fromtimestamp(int(block["timestamp"], 16), UTC) for number, block in blocks.items()}


def check_chain_id(name: str, chain_id: str) -> None:
    """Raises ChainUnavailable unless a node's eth_chainId is that of the network.

    The native fee proxy has the same address on several chains. With a node of the wrong chain, payments in a coin of
    little value would be recorded as payments in a valuable one.
    """
    known, actual = network(name), int(chain_id, 16)
    if known is None or actual != known.chain_id:
        raise ChainUnavailable(f"The node for {name} is of chain {actual}")


def _blocks(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """The headers by height; each is read once, all in one request."""
    distinct = list(dict.fromkeys(numbers))
    blocks = node.results([block_at(number) for number in distinct])
    if not all(blocks):
        raise ChainUnavailable(f"The {node.network} node lags behind what it knew before")
    return dict(zip(distinct, blocks, strict=True))
