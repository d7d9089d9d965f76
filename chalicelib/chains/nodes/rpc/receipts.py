"""Reads the receipts of transactions as the node's JSON, in as few requests as their length allows."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.rpc.hex_values import hash_of
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, NodeTimeout, RpcError, unavailable_if_malformed

RECEIPTS_PER_REQUEST = 50
"""So many at once have to fit into one response. A node that takes no batches is asked for one at a time: what one
reading of several requests returns is in the memory together, and no deadline ends it."""
_SECONDS_FOR_PARTS = 5
"""No request for receipts begins later than this after the first."""
_MOST_REFUSED = 2
"""So many receipts of a request may be refused by themselves before what is left is not asked for."""

MOST_LOGS, FEW_LOGS = 40_000, 500
"""How many logs receipts have that are kept together, about 70 MB; beyond them those with few logs are kept alone."""

RawReceipts = Mapping[str, Mapping[str, Any] | None]
"""The receipts of transactions as the node's JSON, by the hashes that were asked for; None of one that is in no block.
Those that the node does not return are not among them."""


@unavailable_if_malformed
def find_receipts(node: JsonRpcClient, tx_hashes: Sequence[str]) -> RawReceipts:
    """The receipts of transactions (hashes with or without 0x). A request for each 50, and a few more if a response is
    too long: anybody can make a long receipt, or many, which must not keep others from being read. Those that are not
    read in time are left out, and of receipts that together are too long for the memory some (`keep_receipts`).

    Raises InconsistentNode if one is of another transaction, ChainUnavailable if the node returns none of them.
    """
    full = {each: "0x" + each.removeprefix("0x") for each in tx_hashes}
    deadline = time.monotonic() + _SECONDS_FOR_PARTS
    found = dict[str, Mapping[str, Any] | None]()
    for part in read_in_parts(node, list(dict.fromkeys(full.values())), deadline, _MOST_REFUSED):
        keep_receipts(found, part)
        part.clear()  # before the next response is in the memory, too
    return {each: found[of] for each, of in full.items() if of in found}


def logs_in(receipts: RawReceipts) -> tuple[Mapping[str, Any], ...]:
    return tuple(log for receipt in receipts.values() if receipt for log in receipt["logs"])


def keep_receipts(found: dict[str, Mapping[str, Any] | None], more: RawReceipts) -> None:
    """Adds receipts to those that were found, without those of many logs that are more than MOST_LOGS together. One
    alone may have more."""
    logs = sum(len(each.get("logs", ())) for each in found.values() if each)
    for of, receipt in more.items():
        count = len(receipt.get("logs", ())) if receipt else 0
        if count <= FEW_LOGS or logs + count <= MOST_LOGS or not logs:
            found[of] = receipt
            logs += count


def read_in_parts(
    node: JsonRpcClient, tx_hashes: Sequence[str], deadline: float, most_refused: int = 0
) -> Iterator[dict[str, Mapping[str, Any] | None]]:
    """The receipts by their hashes with 0x, in requests of RECEIPTS_PER_REQUEST at most; what the node refuses is asked
    for again in halves. Yields those of each response before the next request: all together may be larger than the
    memory.

    No request begins after the deadline (of time.monotonic), or once more than `most_refused` are refused by
    themselves. Those, and what is left then, are left out. Raises ChainUnavailable if all are, InconsistentNode if one
    is of another transaction.
    """
    size = min(RECEIPTS_PER_REQUEST, node.calls_per_request)
    starts = reversed(range(0, len(tx_hashes), size))
    parts, alone, is_any = [list(tx_hashes[start : start + size]) for start in starts], 0, False
    error: ChainUnavailable | None = None
    while parts and alone <= most_refused:
        if time.monotonic() >= deadline:
            error = NodeTimeout(f"The {node.network} node takes too long")
            break
        part = parts.pop()
        outcomes, error = _receipts(node, part)
        found = {each: outcome for each, outcome in outcomes.items() if not isinstance(outcome, RpcError)}
        refused = [each for each in part if each not in found]
        if any(each and hash_of(each["transactionHash"]) != of.lower() for of, each in found.items()):
            raise InconsistentNode(node.network, "it gave the receipt of another transaction")
        if found:
            is_any = True
            yield found
        del outcomes, found
        if len(part) == 1:
            alone += len(refused)
            continue
        middle = len(refused) // 2 if len(refused) == len(part) else 0
        parts += [each for each in (refused[middle:], refused[:middle]) if each]
    if error is not None and not is_any:
        raise error


def _receipts(node: JsonRpcClient, tx_hashes: Sequence[str]) -> tuple[dict[str, Any], ChainUnavailable | None]:
    """The outcomes of one request for receipts by their hashes, none if it failed as a whole, and its first error."""
    try:
        outcomes = node.outcomes([("eth_getTransactionReceipt", [each]) for each in tx_hashes])
    except ChainUnavailable as error:
        return {}, error
    refusal = next((each for each in outcomes if isinstance(each, RpcError)), None)
    return dict(zip(tx_hashes, outcomes, strict=True)), refusal
