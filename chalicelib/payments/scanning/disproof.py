"""Which logged transfers do not exist: their log is in no receipt of their block.

A node can list a log that is not there, or list one twice with two indexes. What one node says is compared with its own
receipts where that is likely, and with the receipts and blocks of the other nodes. What was logged all the same is
taken back when its block is read again: only if every node of the network has a receipt without it, or the block
without its transaction. A node that does not answer decides nothing, so the block is read again later; if two answers
differ, NodesDisagree is raised.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, host_of
from chalicelib.chains.nodes.ranges import RangeTooLarge
from chalicelib.chains.nodes.transfers import transfers_of
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.payments.scanning.transfer_log import emptied_addresses
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain

COMPARED_PER_RANGE = {"evm": 500, "tron": 20}
"""The most transactions of several blocks whose receipts are compared, and of one request for receipts; on Tron each
is a request."""
BLOCKS_PER_READING = 20
"""In so many blocks of one reading transfers that a node does not have are looked for, by two requests a node."""


def check_number(chain: "Chain", found: Sequence[LoggedTransfer], blocks: BlockRange, family: str) -> None:
    """Raises RangeTooLarge if several blocks have more transactions than `check` reads receipts of in time: anybody can
    send them for the gas, and the same range is read again until a tick has come to its end."""
    has_others = isinstance(chain, Node) and bool(chain.others)
    number = len({each.tx_hash for each in found if has_others or _is_repeated(each)})
    if blocks.count > 1 and number > COMPARED_PER_RANGE[family]:
        raise RangeTooLarge(f"the receipts of {number} transactions are to be compared")


def check(
    services: Services, chain: "Chain", new: Sequence[LoggedTransfer], family: str, proved_blocks: Collection[int] = ()
) -> None:
    """Compares transfers that `chain` lists for the first time with the receipts of their transactions.

    Raises InconsistentNode if the node lists a transfer of a transaction a second time that is not in its own receipt,
    ChainUnavailable if it does not give that; NodesDisagree if another node has the receipt without a transfer, or the
    block without the transaction. Another node that does not answer, or does not have the block, says nothing, and one
    that denies a transfer of `proved_blocks` is asked last for a while. One request to each of them, and two more for
    each block of which it does not have a transaction.
    """
    repeated = {each.tx_hash for each in new if _is_repeated(each)}
    if repeated:
        there = _in_receipts(chain, sorted(repeated), new)
        for each in new:
            if each.tx_hash in repeated and _place(each) not in there.get((each.tx_hash, each.block_hash), ()):
                if isinstance(chain, Node):
                    chain.distrust()
                reason = f"log {each.log_index} of {each.tx_hash} is not in the receipt"
                raise InconsistentNode(chain.network, reason)
    for other in chain.others if isinstance(chain, Node) and new else ():
        for each in _denied(other, new, COMPARED_PER_RANGE[family]):
            reason = f"log {each.log_index} of {each.tx_hash} is at {host_of(chain)} and not at {other.host}"
            if each.block_number not in proved_blocks:
                raise NodesDisagree(chain.network, reason)
            services.log.error("node denies what is proved", extra={"network": chain.network, "reason": reason})
            other.distrust()


def _denied(other: Node, new: Sequence[LoggedTransfer], most: int) -> Iterator[LoggedTransfer]:
    """The transfers that another node does not have: that its receipts lack, and those of transactions that are not in
    their block there. `most` transactions are in one request."""
    hashes, there = list(dict.fromkeys(each.tx_hash for each in new)), dict[tuple[str, str], set[tuple[str, int]]]()
    try:
        for start in range(0, len(hashes), most):
            there |= _in_receipts(other, hashes[start : start + most], new)
    except ChainUnavailable:
        return
    unknown = dict[int, list[LoggedTransfer]]()
    for each in new:
        known = there.get((each.tx_hash, each.block_hash))
        if known is None:
            unknown.setdefault(each.block_number, []).append(each)
        elif _place(each) not in known:
            yield each
    for number, entries in list(unknown.items())[:BLOCKS_PER_READING]:
        said = _says(other, number, entries)
        yield from (each for each in entries if said.get(each.transfer_id) is False)


def disproved(
    services: Services, chain: "Chain", missing: Sequence[LoggedTransfer], deadline: datetime
) -> tuple[list[LoggedTransfer], bool]:
    """Those of the transfers that a later reading does not have that no node has in its receipts; and whether a node
    that did not answer, or the deadline, left some undecided.

    Raises NodesDisagree if one node has a receipt with a transfer and another one a receipt without it.
    """
    by_block = dict[int, list[LoggedTransfer]]()
    for each in missing:
        by_block.setdefault(each.block_number, []).append(each)
    found, is_open = list[LoggedTransfer](), len(by_block) > BLOCKS_PER_READING
    for number, entries in list(by_block.items())[:BLOCKS_PER_READING]:
        if services.clock() >= deadline:
            return found, True
        gone, is_undecided = _disproved_in(services, chain, number, entries)
        found, is_open = [*found, *gone], is_open or is_undecided
    return found, is_open


def _disproved_in(
    services: Services, chain: "Chain", number: int, entries: Sequence[LoggedTransfer]
) -> tuple[list[LoggedTransfer], bool]:
    nodes = (chain, *chain.others) if isinstance(chain, Node) else (chain,)
    said = [_says(node, number, entries) for node in nodes]
    found, is_open = list[LoggedTransfer](), False
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
            is_open = is_open or True not in verdicts
            services.log.warning("transfer not read again", extra={**facts, "is_in_receipts": True in verdicts})
    return found, is_open


def _says(chain: "Chain", number: int, entries: Sequence[LoggedTransfer]) -> Mapping[TransferId, bool]:
    """Whether a node has each transfer in the receipts of the block; nothing of those of which it does not say."""
    try:
        block = chain.read_receipts(number, sorted({each.tx_hash for each in entries}))
        found = transfers_of(chain.network, block.all_logs, chain.escrow, emptied_addresses(entries))
        there = {(each.tx_hash, each.event_key) for each in found}
    except ChainUnavailable:
        return {}
    return {
        each.transfer_id: (each.tx_hash, each.event_key) in there
        for each in entries
        if each.block_hash == block.hash and each.tx_hash in block.logs
    }


def _in_receipts(
    chain: "Chain", tx_hashes: Sequence[str], entries: Sequence[LoggedTransfer]
) -> dict[tuple[str, str], set[tuple[str, int]]]:
    """The transfers in the receipts of transactions, by the hashes of their transactions and blocks."""
    found = dict[tuple[str, str], set[tuple[str, int]]]()
    logs, addresses = chain.logs_of_transactions(tx_hashes), emptied_addresses(entries)
    for each in transfers_of(chain.network, logs, chain.escrow, addresses):
        found.setdefault((each.tx_hash, each.block_hash), set()).add((each.event_key, each.log_index))
    return found


def _is_repeated(each: LoggedTransfer) -> bool:
    """Whether it is compared with the node's own receipts: it is listed twice, or is a payment because an event is not
    listed."""
    return not each.event_key.endswith("-0") or each.emptied_address is not None


def _place(each: LoggedTransfer) -> tuple[str, int]:
    return each.event_key, each.log_index
