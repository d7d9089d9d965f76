"""What a Safe says of the transactions it executed.

    ExecutionSuccess(txHash, payment)   its calls went through
    ExecutionFailure(txHash, payment)   its calls failed and were undone; the nonce is used up

`txHash` (bytes32) is indexed in Safe 1.4.1 and stands in the data in 1.3.0 and before, under the same first topic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.base.addresses import same_address

_SUCCESS_TOPIC = "0x442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e"
_FAILURE_TOPIC = "0x23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23"
SAFE_TOPICS = (_SUCCESS_TOPIC, _FAILURE_TOPIC)
_HASH_DIGITS = 64


@dataclass(frozen=True)
class SafeEvent:
    """An executed transaction of a Safe: `safe_tx_hash` is what the owners signed, `transaction_hash` of the chain."""

    safe_tx_hash: str
    success: bool
    block_number: int
    block_hash: str
    transaction_hash: str


def read_event(safe: str, log: Mapping[str, Any]) -> SafeEvent | None:
    """A JSON-RPC log object as such an event of this Safe; None when it is none."""
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
