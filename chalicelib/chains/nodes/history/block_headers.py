"""Reads what proves the logs of blocks: their headers, and all receipts of a block."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.full_blocks import MOST_SECONDS
from chalicelib.chains.nodes.rpc.hex_values import hash_of
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcError, block_at, unavailable_if_malformed
from chalicelib.chains.nodes.rpc.receipts import read_in_parts
from chalicelib.chains.proofs.headers import Checked, Header, check_header
from chalicelib.chains.proofs.receipts import encode_receipt, select_proved
from chalicelib.chains.proofs.rlp import list_root

Log = Mapping[str, Any]
Receipt = Mapping[str, Any]


@frozen
class BlockLogs:
    """Those logs of a block that are kept, as the node's JSON and in their order. `are_proved` if all receipts of the
    block have the root of its header; the place of each log is then computed, not what the node says it is."""

    logs: tuple[Log, ...]
    are_proved: bool


@frozen
class _Read:
    """A receipt as it is hashed, how many logs it has, and those that are kept by their places in it."""

    encoded: bytes
    count: int
    kept: tuple[tuple[int, Log], ...]


@unavailable_if_malformed
def read_headers(node: JsonRpcClient, numbers: Sequence[int]) -> tuple[Checked, ...]:
    """The headers at these heights, each with its hash recomputed if that is possible. One request for each hundred."""
    outcomes = node.outcomes([block_at(number) for number in numbers])
    found = (None if isinstance(each, RpcError) else each for each in outcomes)
    return tuple(check_header(number, each) for number, each in zip(numbers, found, strict=True))


@unavailable_if_malformed
def read_block_logs(node: JsonRpcClient, header: Header, keep: Callable[[Log], bool]) -> BlockLogs:
    """The logs of a block to be kept, by its receipts. One request, or, if the node does not return them at once, one
    for the hashes of the transactions and one for each 50 of these. Raises ChainUnavailable if the node does not return
    them.

    Of each response the other logs are dropped before the next request: anybody can fill a block with them for little,
    and as JSON they may be larger than the memory.
    """
    read = _read_receipts(node, header, keep)
    if list_root([each.encoded for each in read.values()]) != header.receipts_root:
        return BlockLogs(tuple(log for each in read.values() for _, log in each.kept), are_proved=False)
    place = {"blockNumber": hex(header.number), "blockHash": header.hash}
    logs, before = list[Log](), 0
    for tx_hash, each in read.items():
        known = {**place, "transactionHash": tx_hash}
        logs += [{**log, **known, "logIndex": hex(before + at)} for at, log in each.kept]
        before += each.count
    return BlockLogs(tuple(logs), are_proved=True)


def _read_receipts(node: JsonRpcClient, header: Header, keep: Callable[[Log], bool]) -> dict[str, _Read]:
    """The receipts of a block that are in its root, by the hashes of their transactions and in the order of these."""

    def read(receipts: Sequence[Receipt]) -> dict[str, _Read]:
        proved = select_proved(node.network, header.number, header.hash, receipts)
        return {hash_of(each["transactionHash"]): _read_receipt(each, keep) for each in proved}

    try:
        found = node.call("eth_getBlockReceipts", header.hash)
    except ChainUnavailable:
        found = None
    if isinstance(found, list) and None not in found:
        return read(found)
    deadline, by_hash = time.monotonic() + MOST_SECONDS, dict[str, _Read]()
    transactions = [hash_of(each) for each in node.call("eth_getBlockByHash", header.hash, False)["transactions"]]
    for part in read_in_parts(node, transactions, deadline):
        by_hash |= read([each for each in part.values() if each is not None])
        part.clear()  # before the next response is in the memory, too
    return {each: by_hash[each] for each in transactions if each in by_hash}


def _read_receipt(receipt: Receipt, keep: Callable[[Log], bool]) -> _Read:
    logs = receipt["logs"]
    return _Read(encode_receipt(receipt), len(logs), tuple((at, log) for at, log in enumerate(logs) if keep(log)))
