"""Reads the logs of a range of blocks: the fee proxies' transfer logs, and the calls and checks for any logs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.catalogue.contracts import fee_proxies
from chalicelib.chain.jsonrpc import (
    JsonRpcClient,
    NodeResponseTooLarge,
    NodeTimeout,
    RpcCall,
    RpcError,
    block_at,
    unavailable_if_malformed,
)
from chalicelib.chain.logs import TRANSFER_TOPICS, BlockRange, Checkpoint

_TOO_MANY = ("block range", "range too", "range is too", "too many results", "more than", "response size", "too large")
"""Texts by which nodes report that a range has too many blocks or logs."""


@frozen
class RangeReading:
    """The fee proxies' logs of a range as the node's JSON, and the hash of the range's last block."""

    logs: tuple[Mapping[str, Any], ...]
    last_hash: str


class RangeTooLarge(Exception):
    """The node refuses to return logs of so many blocks, or takes too long. Read a smaller range."""


class Disconnected(Exception):
    """The checkpoint's block is no longer canonical: a fork was deeper than the confirmations."""


@unavailable_if_malformed
def read_range(node: JsonRpcClient, blocks: BlockRange, after: Checkpoint | None) -> RangeReading:
    """The fee proxies' transfer logs of a range of blocks that follows the checkpoint `after`.

    Reads the checkpoint's block, the last block, the logs, and the last block again. If the hashes of the last block
    agree, the node had the whole range and no fork happened meanwhile. Raises Disconnected if the checkpoint's block is
    no longer canonical, RangeTooLarge if the node cannot return the logs of so many blocks.
    """
    last, checkpoint = block_at(blocks.last), block_at(after.number if after else blocks.last)
    logs_call = logs_of(blocks, fee_proxies(node.network), TRANSFER_TOPICS)
    with refusals_as_range_too_large():
        known, last_before, logs, last_after = node.results([checkpoint, last, logs_call, last])
    is_settled = known and last_before and last_after and last_before["hash"] == last_after["hash"]
    if not is_settled or not isinstance(logs, list):
        raise ChainUnavailable(f"The {node.network} node does not have block {blocks.last} settled")
    if after is not None and known["hash"].lower() != after.hash:
        raise Disconnected
    return RangeReading(checked_logs(node.network, blocks, logs), last_before["hash"].lower())


def logs_of(blocks: BlockRange, addresses: Sequence[str], *topics: Sequence[str]) -> RpcCall:
    """The logs of contracts in a range. `topics` are the accepted values of the first topic, the second, and so on."""
    criteria = {
        "fromBlock": hex(blocks.first),
        "toBlock": hex(blocks.last),
        "address": [hex_address(address) for address in addresses],
        "topics": [list(alternatives) for alternatives in topics],
    }
    return "eth_getLogs", [criteria]


def checked_logs(network: str, blocks: BlockRange, logs: Any) -> tuple[Mapping[str, Any], ...]:
    """Returns the logs. Raises ChainUnavailable if one of them is of a block outside the range."""
    if any(not blocks.first <= int(log["blockNumber"], 16) <= blocks.last for log in logs):
        raise ChainUnavailable(f"The {network} node gave logs of other blocks than it was asked for")
    return tuple(logs)


def is_range_refusal(outcome: Any) -> bool:
    """Whether the outcome of eth_getLogs is the node's refusal to return so many logs or blocks."""
    return isinstance(outcome, RpcError) and outcome.says(*_TOO_MANY)


@contextmanager
def refusals_as_range_too_large() -> Iterator[None]:
    """Turns a node's refusal of a range, its timeout and a response that is too large into RangeTooLarge."""
    try:
        yield
    except RpcError as error:
        if is_range_refusal(error):
            raise RangeTooLarge(error.reason) from error
        raise
    except NodeTimeout as error:
        raise RangeTooLarge("the node takes too long") from error
    except NodeResponseTooLarge as error:
        raise RangeTooLarge("the node responds with too much") from error
