"""Reads of a Safe from an EVM chain: its nonce, and the events of the transactions it executed.

    ExecutionSuccess(txHash, payment)   its calls succeeded
    ExecutionFailure(txHash, payment)   its calls failed and were reverted; the nonce is used

`txHash` (bytes32) is indexed in Safe 1.4.1. Up to 1.3.0 it is in the data; the first topic is the same.
"""

from collections.abc import Mapping
from typing import Any

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.nodes.history.blocks import header_hash
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import check_logs, place_of, with_headers
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.rpc import jsonrpc
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

_NONCE = "0xaffed0e0"
_SUCCESS_TOPIC = "0x442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e"
_FAILURE_TOPIC = "0x23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23"
SAFE_TOPICS = (_SUCCESS_TOPIC, _FAILURE_TOPIC)
_HASH_DIGITS = 64
_TOO_MANY = ("too many results", "more than", "max results", "response size", "too large", "block range", "range too")
"""Texts by which nodes report that a query has too many logs, or too many blocks."""


@frozen
class SafeEvent:
    """A transaction that a Safe executed. `safe_tx_hash` is the hash that its owners signed."""

    safe_tx_hash: str
    success: bool
    block_number: int
    block_hash: str
    transaction_hash: str


@jsonrpc.unavailable_if_malformed
def safe_nonce(node: jsonrpc.JsonRpcClient, safe: str, block: int) -> int | None:
    """The nonce of a Safe's next transaction after a block: the number of transactions it had executed.

    None if there is no Safe at the address: the contract fails, or returns anything but 32 bytes.
    """
    try:
        (returned,) = node.results([jsonrpc.contract_read(Call(safe, _NONCE), hex(block))])
    except jsonrpc.NodeResponseTooLarge:
        return None
    except jsonrpc.RpcError as error:
        if error.is_revert:
            return None
        raise
    nonce = bytes.fromhex(returned.removeprefix("0x"))
    return int.from_bytes(nonce, "big") if len(nonce) == WORD else None


@jsonrpc.unavailable_if_malformed
def safe_event(node: jsonrpc.JsonRpcClient, safe: str, safe_tx_hash: str, blocks: BlockRange) -> SafeEvent | None:
    """The Safe's event of a transaction in a block range; None if there is none.

    Raises RangeTooLarge, or BlockRefused for a range of one block, if the node does not return the logs, and
    InconsistentNode if the event's block is not canonical.

    Reads the logs with the hash as a topic (Safe 1.4.1) and all events of the Safe (1.3.0). A contract that is not a
    Safe may emit any number of such events. If a single block has more of them than the node returns or the client
    accepts, only those with the hash as a topic count.
    """
    filters = (LogFilter((safe,), (SAFE_TOPICS, (safe_tx_hash,))), LogFilter((safe,), (SAFE_TOPICS,)))
    queries = [each.query(place_of(blocks)) for each in filters]
    (last,), (indexed, others), _ = with_headers(node, [jsonrpc.block_at(blocks.last)], queries)
    if not last:
        raise ChainUnavailable(f"The {node.network} node does not have block {blocks.last} yet")
    event = _event_among(check_logs(node.network, blocks, indexed), safe, safe_tx_hash)
    if event is None and blocks.first == blocks.last and _has_too_many_logs(others):
        return None
    event = event or _event_among(check_logs(node.network, blocks, others), safe, safe_tx_hash)
    if event is not None:
        number = event.block_number
        header = last if number == blocks.last else node.results([jsonrpc.block_at(number)])[0]
        if not header or header_hash(node, header, number) != event.block_hash:
            raise InconsistentNode(node.network, f"the event of a Safe has block hash {event.block_hash} at {number}")
    return event


def _has_too_many_logs(outcome: Any) -> bool:
    """Whether a query failed because of the number of its logs. In doubt it did not: then the range is read again."""
    return isinstance(outcome, jsonrpc.NodeResponseTooLarge) or (
        isinstance(outcome, jsonrpc.RpcError) and outcome.says(*_TOO_MANY)
    )


def _event_among(logs: tuple[Mapping[str, Any], ...], safe: str, safe_tx_hash: str) -> SafeEvent | None:
    events = (_event(safe, log) for log in logs)
    return next((event for event in events if event is not None and event.safe_tx_hash == safe_tx_hash), None)


def _event(safe: str, log: Mapping[str, Any]) -> SafeEvent | None:
    """Decodes a log as an event of this Safe; None for other logs."""
    topics, words = [topic.lower() for topic in log["topics"]], log["data"][2:].lower()
    if not same_address(log["address"], safe) or not topics or topics[0] not in SAFE_TOPICS or log.get("removed"):
        return None
    if len(topics) == 2 and len(words) == _HASH_DIGITS:
        safe_tx_hash = topics[1]
    elif len(topics) == 1 and len(words) == 2 * _HASH_DIGITS:
        safe_tx_hash = "0x" + words[:_HASH_DIGITS]
    else:
        return None
    return SafeEvent(
        safe_tx_hash=safe_tx_hash,
        success=topics[0] == _SUCCESS_TOPIC,
        block_number=quantity(log["blockNumber"]),
        block_hash=hash_of(log["blockHash"]),
        transaction_hash=hash_of(log["transactionHash"]),
    )
