"""Logs of a range of blocks: the fee proxies' transfers for detection, and what reading any range has in common."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
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
"""How nodes word that a range has too many blocks or logs."""


@dataclass(frozen=True)
class RangeReading:
    """The fee proxies' logs of a range, as the node gave them, and the hash of its last block, which was the same
    before and after the logs were read."""

    logs: tuple[Mapping[str, Any], ...]
    last_hash: str


class RangeTooLarge(Exception):
    """The node refuses so many blocks or logs at once, or takes too long for them: read fewer."""


class Disconnected(Exception):
    """The range does not continue from its checkpoint: a fork went deeper than the confirmations."""


@unavailable_if_malformed
def read_range(node: JsonRpcClient, blocks: BlockRange, after: Checkpoint | None) -> RangeReading:
    """The fee proxies' transfer logs of a range that continues from the checkpoint `after`.

    Reads the checkpoint's block, the last block, the logs, and the last block again: when the two hashes of the last
    block agree, the node knew the whole range and no fork passed meanwhile. Raises Disconnected when the checkpoint is
    no longer canonical, RangeTooLarge when the node cannot answer for so many blocks.
    """
    last, checkpoint = block_at(blocks.last), block_at(after.number if after else blocks.last)
    logs_call = logs_of(blocks, fee_proxies(node.network), TRANSFER_TOPICS)
    with refusals_as_range_too_large():
        root, before, logs, now = node.results([checkpoint, last, logs_call, last])
    if not root or not before or not now or before["hash"] != now["hash"] or not isinstance(logs, list):
        raise ChainUnavailable(f"The {node.network} node does not have block {blocks.last} settled")
    if after is not None and root["hash"].lower() != after.hash:
        raise Disconnected
    return RangeReading(checked_logs(node.network, blocks, logs), before["hash"].lower())


def logs_of(blocks: BlockRange, addresses: Sequence[str], *topics: Sequence[str]) -> RpcCall:
    """The logs of contracts whose first topic is one of the first `topics`, whose second is one of the second, etc."""
    criteria = {
        "fromBlock": hex(blocks.first),
        "toBlock": hex(blocks.last),
        "address": [hex_address(address) for address in addresses],
        "topics": [list(alternatives) for alternatives in topics],
    }
    return "eth_getLogs", [criteria]


def checked_logs(network: str, blocks: BlockRange, logs: Any) -> tuple[Mapping[str, Any], ...]:
    """Raises ChainUnavailable when a log is of a block outside the range."""
    if any(not blocks.first <= int(log["blockNumber"], 16) <= blocks.last for log in logs):
        raise ChainUnavailable(f"The {network} node gave logs of other blocks than it was asked for")
    return tuple(logs)


def is_range_refusal(outcome: Any) -> bool:
    """Whether the outcome of eth_getLogs is the node's refusal to answer for so much."""
    return isinstance(outcome, RpcError) and outcome.says(*_TOO_MANY)


@contextmanager
def refusals_as_range_too_large() -> Iterator[None]:
    """Raises RangeTooLarge for a node's refusal to answer for so much, for its timeout, and for too long a response."""
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
