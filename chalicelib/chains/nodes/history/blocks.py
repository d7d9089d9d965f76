"""Hashes and times of blocks, and the check that a node serves the chain it is configured for."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.nodes.history.logs import BlockFacts, InconsistentNode
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity
from chalicelib.chains.nodes.rpc.jsonrpc import (
    JsonRpcClient,
    RpcError,
    block_at,
    raise_first_error,
    unavailable_if_malformed,
)

_LATEST_TIMESTAMP = 2**36
"""Seconds, in the year 4147; datetime has no years above 9999."""


@unavailable_if_malformed
def block_hashes(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, str | None]:
    """The current canonical hash at each height; None where the node has no block, or refuses to return it.

    A pruned node answers null or an error for old blocks, a lagging node for new ones. Raises ChainUnavailable if the
    node refuses every block.
    """
    distinct = list(dict.fromkeys(numbers))
    outcomes = node.outcomes([block_at(number) for number in distinct])
    if all(isinstance(outcome, RpcError) for outcome in outcomes):
        raise_first_error(outcomes)
    known = {n: None if isinstance(block, RpcError) else block for n, block in zip(distinct, outcomes, strict=True)}
    return {number: None if block is None else header_hash(node, block, number) for number, block in known.items()}


@unavailable_if_malformed
def block_facts(node: JsonRpcClient, numbers: Sequence[int]) -> dict[int, BlockFacts]:
    """The current canonical hash and the time (UTC) of the block at each height.

    Raises ChainUnavailable if the node does not have one of the blocks.
    """
    distinct = list(dict.fromkeys(numbers))
    blocks = node.results([block_at(number) for number in distinct])
    if not all(blocks):
        raise ChainUnavailable(f"The {node.network} node lags behind what it knew before")
    return {number: facts_of(node, block, number) for number, block in zip(distinct, blocks, strict=True)}


def header_hash(node: JsonRpcClient, header: Mapping[str, Any], number: int) -> str:
    """The hash of a header, in lower case. Raises InconsistentNode if it is the header of another height."""
    if quantity(header["number"]) != number:
        raise InconsistentNode(node.network, f"the header of block {number} has another number")
    return hash_of(header["hash"])


def check_chain_id(name: str, chain_id: str) -> None:
    """Raises ChainUnavailable unless a node's eth_chainId is that of the network.

    The native fee proxy has the same address on several chains. With a node of the wrong chain, payments in a coin of
    little value would be recorded as payments in a valuable one.
    """
    known, actual = find_network(name), quantity(chain_id)
    if known is None or actual != known.chain_id:
        raise ChainUnavailable(f"The node for {name} is of chain {actual}")


def facts_of(node: JsonRpcClient, header: Mapping[str, Any], number: int) -> BlockFacts:
    """The hash and time of a header. Raises InconsistentNode if it is the header of another height."""
    time = datetime.fromtimestamp(quantity(header["timestamp"], _LATEST_TIMESTAMP), UTC)
    return BlockFacts(header_hash(node, header, number), time)
