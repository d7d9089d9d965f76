"""Reads the receipts of transactions as the node's JSON, in as few requests as their length allows."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.logs import InconsistentNode
from chalicelib.chains.nodes.rpc.hex_values import hash_of
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, NodeTimeout, RpcError

_SECONDS_FOR_PARTS = 5
"""A request for receipts that fails within this time is sent again in parts; none begins later."""


def receipts_by_hash(node: JsonRpcClient, tx_hashes: Sequence[str]) -> dict[str, Mapping[str, Any] | None]:
    """The receipts by their hashes with 0x; None for a transaction that is in no block. One request, and a few more if
    the response is too long: anybody can make a long receipt, which must not keep others from being read.

    Raises InconsistentNode if one is of another transaction.
    """
    return receipts_in_parts(node, list(dict.fromkeys(tx_hashes)), time.monotonic() + _SECONDS_FOR_PARTS)


def receipts_in_parts(
    node: JsonRpcClient, tx_hashes: Sequence[str], deadline: float
) -> dict[str, Mapping[str, Any] | None]:
    """The receipts by their hashes with 0x, in one request; what the node refuses is asked for again in halves.

    No request begins after the deadline (of time.monotonic). Raises ChainUnavailable if a single receipt is refused or
    time is up, InconsistentNode if a receipt is of another transaction.
    """
    parts, found = [list(tx_hashes)], dict[str, Mapping[str, Any] | None]()
    while parts:
        if time.monotonic() >= deadline:
            raise NodeTimeout(f"The {node.network} node takes too long")
        part = parts.pop()
        outcomes, error = _receipts(node, part)
        found |= {each: outcome for each, outcome in outcomes.items() if not isinstance(outcome, RpcError)}
        refused = [each for each in part if each not in found]
        if not refused:
            continue
        if error is not None and len(part) == 1:
            raise error
        middle = len(refused) // 2 if len(refused) == len(part) else 0
        parts += [each for each in (refused[middle:], refused[:middle]) if each]
    for tx_hash, receipt in found.items():
        if receipt and hash_of(receipt["transactionHash"]) != tx_hash.lower():
            raise InconsistentNode(node.network, "it gave the receipt of another transaction")
    return found


def _receipts(node: JsonRpcClient, tx_hashes: Sequence[str]) -> tuple[dict[str, Any], ChainUnavailable | None]:
    """The outcomes of one request for receipts by their hashes, none if it failed as a whole, and its first error."""
    try:
        outcomes = node.outcomes([("eth_getTransactionReceipt", [each]) for each in tx_hashes])
    except ChainUnavailable as error:
        return {}, error
    refusal = next((each for each in outcomes if isinstance(each, RpcError)), None)
    return dict(zip(tx_hashes, outcomes, strict=True)), refusal
