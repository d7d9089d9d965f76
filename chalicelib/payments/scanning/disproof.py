"""Which logged transfers do not exist: their log is in no receipt of their block.

A node can list a log that is not there, or list one twice with two indexes. What one node says is compared with its own
receipts where that is likely, and with the receipts of the other nodes. What was logged all the same is taken back when
its block is read again: only if every node of the network has a receipt without it, or the block without its
transaction. Silence is no answer, and two answers that differ are decided by nobody (NodesDisagree).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, host_of
from chalicelib.chains.nodes.ranges import RangeTooLarge
from chalicelib.chains.nodes.transfers import transfers_of
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

COMPARED_PER_RANGE = {"evm": 500, "tron": 20}
"""Transactions of a range of which the receipts of other nodes are read, and those that may have a transfer twice; on
Tron each is a request."""
BLOCKS_PER_READING = 20
"""In so many blocks of one later reading transfers that it does not have are looked for, by two requests a node."""


def check_number(found: Sequence[LoggedTransfer], blocks: BlockRange, family: str) -> None:
    """Raises RangeTooLarge if more transactions of several blocks have a transfer twice than `check` reads receipts of
    in time: anybody can send them for the gas, and the same range is read again until a tick has come to its end."""
    number = len({each.tx_hash for each in found if _is_repeated(each)})
    if blocks.count > 1 and number > COMPARED_PER_RANGE[family]:
        raise RangeTooLarge(f"{number} transactions have the same transfer more than once")


def check(chain: "Chain", new: Sequence[LoggedTransfer], family: str) -> None:
    """Compares transfers that are read for the first time with the receipts of their transactions.

    Raises InconsistentNode if the node lists a transfer of a transaction a second time that is not in its own receipt,
    ChainUnavailable if it does not give that; NodesDisagree if another node has the receipt without a transfer. Another
    node that does not answer, or does not have a transaction, says nothing. One request to each of them.
    """
    repeated = {each.tx_hash for each in new if _is_repeated(each)}
    if repeated:
        there = _in_receipts(chain, sorted(repeated))
        for each in new:
            if each.tx_hash in repeated and _place(each) not in there.get((each.tx_hash, each.block_hash), ()):
                if isinstance(chain, Node):
                    chain.distrust()
                reason = f"log {each.log_index} of {each.tx_hash} is not in the receipt"
                raise InconsistentNode(chain.network, reason)
    hashes = list(dict.fromkeys(each.tx_hash for each in new))[: COMPARED_PER_RANGE[family]]
    for other in chain.others if isinstance(chain, Node) and hashes else ():
        try:
            there = _in_receipts(other, hashes)
        except ChainUnavailable:
            continue
        for each in new:
            known = there.get((each.tx_hash, each.block_hash))
            if known is not None and _place(each) not in known:
                reason = f"log {each.log_index} of {each.tx_hash} is at {host_of(chain)} and not at {other.host}"
                raise NodesDisagree(chain.network, reason)


def disproved(
    services: Services, chain: "Chain", missing: Sequence[LoggedTransfer], deadline: datetime
) -> list[LoggedTransfer]:
    """Those of the transfers that a later reading does not have that no node has in its receipts.

    Raises NodesDisagree if one node has a receipt with a transfer and another one a receipt without it.
    """
    by_block = dict[int, list[LoggedTransfer]]()
    for each in missing:
        by_block.setdefault(each.block_number, []).append(each)
    found = list[LoggedTransfer]()
    for number, entries in list(by_block.items())[:BLOCKS_PER_READING]:
        if services.clock() >= deadline:
            break
        found += _disproved_in(services, chain, number, entries)
    return found


def _disproved_in(
    services: Services, chain: "Chain", number: int, entries: Sequence[LoggedTransfer]
) -> list[LoggedTransfer]:
    nodes = (chain, *chain.others) if isinstance(chain, Node) else (chain,)
    said = [_says(node, number, entries) for node in nodes]
    found = list[LoggedTransfer]()
    for entry in entries:
        verdicts = {each.get(entry.transfer_id) for each in said}
        facts = {"network": entry.network, "tx_hash": entry.tx_hash, "block": number}
        if verdicts == {False}:
            reason = f"log {entry.log_index} of {entry.tx_hash} is in no receipt of block {number}: it is taken back"
            services.log.error("node contradicts itself", extra={"network": entry.network, "reason": reason})
            found.append(entry)
        elif {True, False} <= verdicts:
            reason = f"log {entry.log_index} of {entry.tx_hash} is in the receipt of one node, not in that of another"
            raise NodesDisagree(chain.network, reason)
        else:
            services.log.warning("transfer not read again", extra={**facts, "is_in_receipts": True in verdicts})
    return found


def _says(chain: "Chain", number: int, entries: Sequence[LoggedTransfer]) -> Mapping[TransferId, bool]:
    """Whether a node has each transfer in the receipts of the block; nothing of those of which it does not say."""
    try:
        block = chain.read_receipts(number, sorted({each.tx_hash for each in entries}))
        there = {(each.tx_hash, each.event_key) for each in transfers_of(chain.network, block.all_logs, chain.escrow)}
    except ChainUnavailable:
        return {}
    return {
        each.transfer_id: (each.tx_hash, each.event_key) in there
        for each in entries
        if each.block_hash == block.hash and each.tx_hash in block.logs
    }


def _in_receipts(chain: "Chain", tx_hashes: Sequence[str]) -> dict[tuple[str, str], set[tuple[str, int]]]:
    """The transfers in the receipts of transactions, by the hashes of their transactions and blocks."""
    found = dict[tuple[str, str], set[tuple[str, int]]]()
    for each in transfers_of(chain.network, chain.logs_of_transactions(tx_hashes), chain.escrow):
        found.setdefault((each.tx_hash, each.block_hash), set()).add((each.event_key, each.log_index))
    return found


def _is_repeated(each: LoggedTransfer) -> bool:
    return not each.event_key.endswith("-0")


def _place(each: LoggedTransfer) -> tuple[str, int]:
    return each.event_key, each.log_index
