"""Reads what proves the logs of blocks: their headers, and all receipts of a block."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.full_blocks import MOST_SECONDS, RECEIPTS_PER_REQUEST
from chalicelib.chains.nodes.rpc.hex_values import hash_of
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcError, block_at, unavailable_if_malformed
from chalicelib.chains.nodes.rpc.receipts import receipts_in_parts
from chalicelib.chains.proofs.headers import Checked, Header, check_header
from chalicelib.chains.proofs.receipts import receipts_root, select_proved

Receipt = Mapping[str, Any]


@frozen
class BlockLogs:
    """All logs of a block, as the node's JSON and in their order. `are_proved` if the receipts that they are from have
    the root of the block's header; the place of each log is then computed, not what the node says it is."""

    logs: tuple[Mapping[str, Any], ...]
    are_proved: bool


@unavailable_if_malformed
def read_headers(node: JsonRpcClient, numbers: Sequence[int]) -> tuple[Checked, ...]:
    """The headers at these heights, each with its hash recomputed if that is possible. One request for each hundred."""
    outcomes = node.outcomes([block_at(number) for number in numbers])
    found = (None if isinstance(each, RpcError) else each for each in outcomes)
    return tuple(check_header(number, each) for number, each in zip(numbers, found, strict=True))


@unavailable_if_malformed
def read_block_logs(node: JsonRpcClient, header: Header) -> BlockLogs:
    """All logs of a block, by its receipts. One request, or, if the node does not return them at once, one for the
    hashes of the transactions and one for each 50 of these. Raises ChainUnavailable if the node does not return them.
    """
    receipts = select_proved(node.network, header.number, header.hash, _receipts(node, header.hash))
    if receipts_root(receipts) != header.receipts_root:
        return BlockLogs(tuple(log for each in receipts for log in each["logs"]), are_proved=False)
    place = {"blockNumber": hex(header.number), "blockHash": header.hash}
    pairs = ((each["transactionHash"], log) for each in receipts for log in each["logs"])
    logs = ({**log, **place, "transactionHash": hash_of(of), "logIndex": hex(at)} for at, (of, log) in enumerate(pairs))
    return BlockLogs(tuple(logs), are_proved=True)


def _receipts(node: JsonRpcClient, block: str) -> Sequence[Receipt]:
    try:
        found = node.call("eth_getBlockReceipts", block)
    except ChainUnavailable:
        found = None
    if isinstance(found, list) and None not in found:
        return found
    deadline = time.monotonic() + MOST_SECONDS
    transactions = [hash_of(each) for each in node.call("eth_getBlockByHash", block, False)["transactions"]]
    receipts = list[Receipt]()
    for start in range(0, len(transactions), RECEIPTS_PER_REQUEST):
        part = transactions[start : start + RECEIPTS_PER_REQUEST]
        by_hash = receipts_in_parts(node, part, deadline)
        receipts += [receipt for each in part if (receipt := by_hash[each]) is not None]
    return receipts
