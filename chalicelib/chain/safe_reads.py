"""What an EVM chain knows of a Safe: its nonce, and the events by which it names the transactions it executed.

    ExecutionSuccess(txHash, payment)   its calls succeeded
    ExecutionFailure(txHash, payment)   its calls failed and were undone; the nonce is used up

`txHash` (bytes32) is indexed in Safe 1.4.1; in 1.3.0 and before it is in the data, under the same first topic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.calldata.transaction import Call
from chalicelib.chain.jsonrpc import (
    JsonRpcClient,
    NodeResponseTooLarge,
    block_at,
    contract_read,
    raise_first_error,
    unavailable_if_malformed,
)
from chalicelib.chain.logs import BlockRange
from chalicelib.chain.ranges import checked_logs, is_range_refusal, logs_of, refusals_as_range_too_large

_NONCE = "0xaffed0e0"
_SUCCESS_TOPIC = "0x442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e"
_FAILURE_TOPIC = "0x23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23"
SAFE_TOPICS = (_SUCCESS_TOPIC, _FAILURE_TOPIC)
_HASH_DIGITS = 64


@dataclass(frozen=True)
class SafeEvent:
    """An executed transaction of a Safe: `safe_tx_hash` is what its owners signed, `transaction_hash` the chain's."""

    safe_tx_hash: str
    success: bool
    block_number: int
    block_hash: str
    transaction_hash: str


@unavailable_if_malformed
def safe_nonce(node: JsonRpcClient, safe: str, block: int) -> int:
    """How many transactions a Safe had executed after a block, which is the nonce of its next one then."""
    (nonce,) = node.results([contract_read(Call(safe, _NONCE), hex(block))])
    return int(nonce, 16)


@unavailable_if_malformed
def safe_event(node: JsonRpcClient, safe: str, safe_tx_hash: str, blocks: BlockRange) -> SafeEvent | None:
    """The Safe's event of a transaction in a block range, None when there is none. Raises RangeTooLarge.

    Searched by the hash, which 1.4.1 indexes, and among all events of the Safe, for 1.3.0. A contract that is not a
    Safe may emit any number of such events: a single block with more of them than the node returns, or than we accept,
    counts as one without an event in the data.
    """
    by_hash = logs_of(blocks, [safe], SAFE_TOPICS, [safe_tx_hash])
    calls = [by_hash, block_at(blocks.last), logs_of(blocks, [safe], SAFE_TOPICS)]
    with refusals_as_range_too_large():
        try:
            indexed, last, others = node.outcomes(calls)
        except NodeResponseTooLarge:
            if blocks.first != blocks.last:
                raise
            (indexed, last), others = node.outcomes(calls[:2]), []
        raise_first_error([last, indexed])
        if not last:
            raise ChainUnavailable(f"The {node.network} node does not have block {blocks.last} yet")
        event = _event_among(checked_logs(node.network, blocks, indexed), safe, safe_tx_hash)
        if event is not None:
            return event
        if blocks.first == blocks.last and is_range_refusal(others):
            return None
        raise_first_error([others])
    return _event_among(checked_logs(node.network, blocks, others), safe, safe_tx_hash)


def _event_among(logs: tuple[Mapping[str, Any], ...], safe: str, safe_tx_hash: str) -> SafeEvent | None:
    events = (_event(safe, log) for log in logs)
    return next((event for event in events if event is not None and event.safe_tx_hash == safe_tx_hash), None)


def _event(safe: str, log: Mapping[str, Any]) -> SafeEvent | None:
    """A log as an event of this Safe; None when it is not one."""
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
        block_number=int(log["blockNumber"], 16),
        block_hash=log["blockHash"].lower(),
        transaction_hash=log["transactionHash"].lower(),
    )
