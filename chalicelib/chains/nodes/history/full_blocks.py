"""Reads the logs of one block that has more of them than the node returns, or than a response may hold.

A range of blocks that is refused is read in halves; of a single block there are none. Anybody can fill a block, for
little on a rollup: with transfers of a worthless token through a proxy, or with other logs. So a block is read in ways
that depend less and less on how many logs it has:

    1  the logs of one contract at a time      one request, with a query for each contract
    2  the receipts of the block               one request
    3  the receipts of its transactions        one request for each 50; what is refused is asked for again in halves

Every call asks by the hash of the block, as a number may be that of another block a moment later. An answer is taken
whole or not at all: all contracts of 1, a receipt for each transaction of the block in 2 and 3.

The topics of the references that are waited for cannot be asked for. They are not known as a list, only by key, and any
number of them may be of one network: also those of paid and expired requests, as late payments are recorded.

The receipt of one transaction is never refused for its length: a log takes 375 units of gas and is about 400 bytes of
JSON, and a transaction may use 2**24 units, 2**25 on Polygon. If a node returns none of a transaction, the block is
refused (ranges.BlockRefused), as nothing can be left out.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.rpc.hex_values import hash_of
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, NodeTimeout, RpcCall
from chalicelib.chains.nodes.rpc.receipts import read_in_parts

ADDRESSES_PER_QUERY = 500
"""geth refuses more than 1,000 values of a topic."""
MOST_SECONDS = 20
"""No request begins later than this after the first. A tick of the scanner begins no block after its own 20 seconds,
and its function has 60."""

Log = Mapping[str, Any]


@frozen
class LogFilter:
    """Which logs are asked for: those of some contracts, and the accepted values of the first topic, the second, ...;
    no values are any value."""

    emitters: tuple[str, ...]
    topics: tuple[tuple[str, ...], ...]

    def query(self, place: Mapping[str, str], emitters: Sequence[str] | None = None) -> RpcCall:
        """The call for the logs at a place, which is a range of blocks or the hash of one; of fewer `emitters`."""
        addresses = [hex_address(each) for each in emitters or self.emitters]
        return "eth_getLogs", [{**place, "address": addresses, "topics": [list(each) or None for each in self.topics]}]

    def takes(self, log: Log) -> bool:
        """Whether a node would return this log for the filter."""
        topics = [topic.lower() for topic in log["topics"]]
        if len(topics) < len(self.topics) or log["address"].lower() not in map(hex_address, self.emitters):
            return False
        return all(not wanted or topic in wanted for topic, wanted in zip(topics, self.topics, strict=False))


def logs_of_block(
    node: JsonRpcClient, header: Mapping[str, Any], wanted: LogFilter, error: Any
) -> tuple[Log, ...] | None:
    """The wanted logs of the block with this header, whose query failed with `error`; None if the node returns neither
    them nor the receipts.

    Raises InconsistentNode if what it returns is of another block.
    """
    deadline = time.monotonic() + MOST_SECONDS
    block = hash_of(header["hash"])
    found = None if isinstance(error, NodeTimeout) else _by_contract(node, block, wanted)
    if found is None:
        transactions = header.get("transactions")
        if not isinstance(transactions, list):
            return None
        hashes = [hash_of(each) for each in transactions]
        found = _of_block_receipts(node, block, hashes, wanted)
        if found is None:
            found = _of_receipts(node, block, hashes, wanted, deadline)
    return found


def _by_contract(node: JsonRpcClient, block: str, wanted: LogFilter) -> tuple[Log, ...] | None:
    """The logs by a query for each contract; None if one is refused.

    Also None if there are no logs at all: a query for a block without any is not refused.
    """
    if len(wanted.emitters) < 2:
        return None
    try:
        outcomes = node.outcomes([wanted.query({"blockHash": block}, [each]) for each in wanted.emitters])
    except ChainUnavailable:
        return None
    if not all(isinstance(each, list) for each in outcomes) or not any(outcomes):
        return None
    logs = tuple(log for each in outcomes for log in each)
    _check_block(node, block, logs)
    return logs


def _of_block_receipts(
    node: JsonRpcClient, block: str, transactions: Sequence[str], wanted: LogFilter
) -> tuple[Log, ...] | None:
    """The logs in the receipts of the block; None if the node does not return one for each of its transactions."""
    try:
        receipts = node.call("eth_getBlockReceipts", block)
    except ChainUnavailable:
        return None
    if not isinstance(receipts, list) or None in receipts:
        return None
    if set(transactions) - {hash_of(each["transactionHash"]) for each in receipts}:
        return None
    return tuple(log for each in receipts for log in _logs_in(node, block, each, wanted))


def _of_receipts(
    node: JsonRpcClient, block: str, transactions: Sequence[str], wanted: LogFilter, deadline: float
) -> tuple[Log, ...] | None:
    """The logs in the receipts of single transactions; None if the node does not return one of them, or not in time.

    Of each response only the wanted logs are kept: together the receipts may be larger than the memory.
    """
    found = dict[str, list[Log]]()
    try:
        for receipts in read_in_parts(node, transactions, deadline):
            if not all(receipts.values()):
                return None
            found |= {of: _logs_in(node, block, each, wanted) for of, each in receipts.items() if each}
            receipts.clear()  # before the next response is in the memory, too
    except InconsistentNode:
        raise
    except ChainUnavailable:
        return None
    return tuple(log for each in transactions for log in found[each]) if found.keys() >= set(transactions) else None


def _logs_in(node: JsonRpcClient, block: str, receipt: Mapping[str, Any], wanted: LogFilter) -> list[Log]:
    """The wanted logs of a receipt. Raises InconsistentNode if it, or one of its logs, is of another block."""
    _check_block(node, block, [receipt, *receipt["logs"]])
    tx_hash = hash_of(receipt["transactionHash"])
    logs = [log for log in receipt["logs"] if wanted.takes(log)]
    if any(hash_of(log["transactionHash"]) != tx_hash for log in logs):
        raise InconsistentNode(node.network, f"the receipt of {tx_hash} has a log of another transaction")
    return logs


def _check_block(node: JsonRpcClient, block: str, found: Sequence[Mapping[str, Any]]) -> None:
    if any(each["blockHash"] != block and hash_of(each["blockHash"]) != block for each in found):
        raise InconsistentNode(node.network, f"it gave logs or receipts of another block than {block}")
