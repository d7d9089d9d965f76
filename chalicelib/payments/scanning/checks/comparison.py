"""Which listed transfers exist: every node that answers has them, and at least two do if there are several.

A node can list a log that is not there, or the same one twice. So a transfer that can count is compared before it is
recorded:

    one node             its word; what is listed twice, or is a payment without an event, has to be in its receipt
    another node         has the block (hash and time), and lists the transfer in it, or has it in the receipt
      has it not         NodesDisagree: the network is held
      does not say       of this transaction: it is not recorded now
      has no such block  or does not answer: the blocks before are read, and this one waits (NotAgreed)
    all others silent    for SILENT_NODES_SECONDS, without a new block: the one that is left is believed

Transfers are known by their transaction, what they say, and their place among equal ones in it: clients number logs
differently. What was logged all the same is taken back when its block is read again (reversal.py).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chalicelib.base.errors import ChainUnavailable, NotConfirmed
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.history.log_ranges import BlockPayments, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.nodes import Node, NodesDisagree, first_node_of, host_of
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.payments.scanning import rules as scan_rules
from chalicelib.payments.scanning.records import Cursor, LoggedTransfer, TransferId
from chalicelib.payments.scanning.transfer_log import Logs, addresses_of_emptied, can_count, is_of_token
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain
    from chalicelib.payments.scanning.checks.arrivals import ArrivalLogs

COMPARED_PER_RANGE = {"evm": 500, "tron": 20}
"""The most transactions of several blocks whose receipts are compared, and of one request for receipts; on Tron each
is a request."""
BLOCKS_PER_READING = 20
"""In so many blocks of one reading transfers that a node does not list are looked for, by two requests a node."""


class NotAgreed(NotConfirmed):
    """No other node says yet that it has the transfers of a block. `silent` are the newest blocks of those nodes by
    host, None of one that does not answer."""

    def __init__(self, network: str, block: int, silent: Mapping[str, int | None]) -> None:
        self.block, self.silent = block, silent
        said = (f"{host} {'does not answer' if at is None else f'is at block {at}'}" for host, at in silent.items())
        reason = f"transfers of block {block} wait for another node: {', '.join(said)}"
        super().__init__(f"No other {network} node has a block yet", reason)


@frozen
class Compared:
    """Of new transfers, those to record; those that no other node could be asked about, though it has their block;
    which of those to record one node alone has; the node's receipts that were read for it; and the hosts of the other
    nodes that said something."""

    agreed: tuple[LoggedTransfer, ...]
    deferred: tuple[LoggedTransfer, ...] = ()
    alone: tuple[LoggedTransfer, ...] = ()
    receipts: RawReceipts = field(default_factory=dict)
    answered: frozenset[str] = frozenset()

    def __add__(self, later: "Compared") -> "Compared":
        """What was found for these transfers and for later ones."""
        receipts = {**self.receipts, **later.receipts}
        deferred, alone = self.deferred + later.deferred, self.alone + later.alone
        return Compared(self.agreed + later.agreed, deferred, alone, receipts, self.answered | later.answered)


def check_number(found: Sequence[LoggedTransfer], blocks: BlockRange, family: str) -> None:
    """Raises RangeTooLarge if several blocks have more transactions than `check` compares in time: anybody can send
    them for the gas, and the same range is read again until a tick has come to its end."""
    number = len({each.tx_hash for each in found if can_count(each)})
    if blocks.count > 1 and number > COMPARED_PER_RANGE[family]:
        raise RangeTooLarge(f"the receipts of {number} transactions are to be compared")


def check(
    services: Services,
    chain: "Chain",
    cursor: Cursor,
    new: Sequence[LoggedTransfer],
    listed: Logs,
    proved: Logs = (),
) -> Compared:
    """Compares transfers that `chain` lists for the first time with the other nodes, or with its own receipts.

    `listed` are its logs of payments and Transfers in their blocks, `proved` those of transactions in proved blocks.

    Raises InconsistentNode if the node lists a transfer a second time that is not in its own receipt; NodesDisagree if
    another node has another block, or does not have a transfer in it; NotAgreed if all others are silent; RangeTooLarge
    if one does not list those of more than BLOCKS_PER_READING blocks. One that denies what is proved is asked last for
    a while. One request to each other node; for what it does not list, one for the node's own receipts and two for each
    block; and what `arrivals.settle` takes.
    """
    counting = [each for each in new if can_count(each)]
    if not counting:
        return Compared(tuple(new))
    from chalicelib.payments.scanning.checks.arrivals import ArrivalLogs, Witness  # most ticks find no payment

    others = chain.others if isinstance(chain, Node) else ()
    if not others:
        unread, receipts = _check_own(chain, counting)
        deferred = [each for each in counting if each.tx_hash in unread]
        return _compare_transfers(services, chain, new, deferred, ArrivalLogs(listed, receipts, proved))
    said = [ask(node, counting) for node in others]
    wrong = next((each.differs for each in said if each.differs), None)
    if wrong is not None:
        raise NodesDisagree(chain.network, f"{wrong[0]} at {host_of(chain)} and {wrong[1]}")
    _, receipts = _check_own(chain, counting)
    confirmed, witnesses = _in_logs(chain, proved, counting), list[Witness]()
    is_proved = frozenset(confirmed)
    for node, each in zip(others, said, strict=True):
        there, read = _confirm_by_receipts(services, chain, node, counting, each, is_proved)
        witnesses.append(Witness(node, each.listed | there, each.logs, read))
        confirmed |= witnesses[-1].has
    rest = [entry for entry in counting if entry.transfer_id not in confirmed]
    left_out = frozenset[TransferId]().union(*(each.left_out for each in said))
    deferred = [entry for entry in rest if entry.transfer_id in left_out]
    waiting = [entry for entry in rest if entry.transfer_id not in left_out]
    if waiting:
        heads = {node.host: each.head for node, each in zip(others, said, strict=True)}
        check_silence(services, chain, cursor, waiting, heads)
    logs = ArrivalLogs(listed, receipts, proved, witnesses)
    compared = _compare_transfers(services, chain, new, deferred, logs, waiting)
    answered = frozenset(node.host for node, each in zip(others, said, strict=True) if each.answers)
    return replace(compared, answered=answered)


def check_silence(
    services: Services,
    chain: "Chain",
    cursor: Cursor,
    waiting: Sequence[LoggedTransfer],
    heads: Mapping[str, int | None],
) -> None:
    """Raises NotAgreed unless the other nodes, of the newest blocks `heads`, have been silent for so long that one
    alone is believed: that rings the alarm."""
    after = timedelta(seconds=services.settings.silent_nodes_seconds)
    if not scan_rules.are_dead(cursor.all_silent, heads, after, services.clock()):
        raise NotAgreed(chain.network, min(entry.block_number for entry in waiting), heads)
    facts = {"network": chain.network, "count": len(waiting), "host": host_of(chain)}
    services.log.error("transfers of one node recorded", extra=facts)


def _compare_transfers(
    services: Services,
    chain: "Chain",
    new: Sequence[LoggedTransfer],
    deferred: Sequence[LoggedTransfer],
    logs: "ArrivalLogs",
    alone: Sequence[LoggedTransfer] = (),
) -> Compared:
    """The result for transfers of which `deferred` are not recorded now, with what arrived of the others."""
    from chalicelib.payments.scanning.checks.arrivals import settle

    ids = {each.transfer_id for each in deferred}
    moved = [each for each in new if each.transfer_id not in ids and is_of_token(each)]
    arrived, unknown, receipts = settle(services, chain, moved, logs)
    ids |= {each.transfer_id for each in moved}
    known = {each.transfer_id: each for each in new if each.transfer_id not in ids}
    known |= {each.transfer_id: each for each in arrived}
    agreed = tuple(known[each.transfer_id] for each in new if each.transfer_id in known)
    vouched = tuple(known[each.transfer_id] for each in alone if each.transfer_id in known)
    return Compared(agreed, (*deferred, *unknown), vouched, receipts)


@frozen
class Said:
    """What another node says of transfers: those that it lists, and those that it does not list though it has their
    block. `differs` says how a block differs, there and at the other node. `head` is its newest block if it does not
    have one of the blocks."""

    listed: frozenset[TransferId] = frozenset()
    left_out: frozenset[TransferId] = frozenset()
    differs: tuple[str, str] | None = None
    head: int | None = None
    other_logs: frozenset[str] = frozenset()
    """The transactions of which it lists some transfer."""
    logs: Logs = ()
    """What it lists of their blocks: payments, and Transfers to the payees."""

    @property
    def answers(self) -> bool:
        return bool(self.listed or self.left_out or self.differs)


def ask(node: Node, entries: Sequence[LoggedTransfer]) -> Said:
    """What a node says of transfers, and lists of what arrived of them. One request, and one for its newest block if it
    does not have all of theirs."""
    from chalicelib.payments.scanning.checks.arrivals import transfer_filters  # most ticks find no payment

    try:
        blocks: Mapping[int, BlockPayments] = node.read_payments(transfer_filters(entries))
        head = None if all(each.block_number in blocks for each in entries) else node.head()
    except ChainUnavailable:
        return Said()
    listed, left_out, there = set[TransferId](), set[TransferId](), dict[int, set[tuple[str, str]]]()
    for entry in entries:
        number = entry.block_number
        block = blocks.get(number)
        if block is None:
            continue
        facts = block.facts
        if facts.hash != entry.block_hash:
            differs = f"block {number} is {entry.block_hash}", f"{facts.hash} at {node.host}"
            return Said(differs=differs)
        if facts.time != entry.paid_at:
            differs = f"block {number} is of {entry.paid_at:%FT%TZ}", f"of {facts.time:%FT%TZ} at {node.host}"
            return Said(differs=differs)
        if number not in there:
            there[number] = _list_transfers(node, block)
        is_listed = (entry.tx_hash, entry.event_key) in there[number]
        (listed if is_listed else left_out).add(entry.transfer_id)
    transactions = frozenset(tx_hash for each in there.values() for tx_hash, _ in each)
    logs = [log for each in blocks.values() for log in each.all_logs]
    return Said(frozenset(listed), frozenset(left_out), None, head, transactions, logs)


def _list_transfers(node: Node, block: BlockPayments) -> set[tuple[str, str]]:
    """The transfers of proxies that a node lists in a block, none if what it lists contradicts itself."""
    try:
        return {(each.tx_hash, each.event_key) for each in transfers_of(node.network, block.logs or (), node.escrow)}
    except ChainUnavailable:
        return set()


def _confirm_by_receipts(
    services: Services,
    chain: "Chain",
    other: Node,
    entries: Sequence[LoggedTransfer],
    said: Said,
    proved: Collection[TransferId],
) -> tuple[set[TransferId], Logs]:
    """The transfers that another node has in receipts though it does not list them, and the logs in these. Raises
    NodesDisagree if it does not have one in its block at all, unless that is proved; RangeTooLarge if they are in too
    many blocks."""
    by_block = dict[int, list[LoggedTransfer]]()
    for each in entries:
        if each.transfer_id in said.left_out:
            by_block.setdefault(each.block_number, []).append(each)
    if len(by_block) > BLOCKS_PER_READING:
        raise RangeTooLarge(f"{other.host} does not list the transfers of {len(by_block)} blocks")
    found, logs = set[TransferId](), list[Mapping[str, Any]]()
    for number, left_out in by_block.items():
        verdicts, read = read_verdicts(other, number, left_out)
        logs += read
        for each in left_out:
            verdict = verdicts.get(each.transfer_id)
            if verdict:
                found.add(each.transfer_id)
            elif verdict is False:
                reason = f"log {each.log_index} of {each.tx_hash} is at {host_of(chain)} and not at {other.host}"
                if each.tx_hash in said.other_logs:
                    reason += ", which has other logs of that transaction: they cannot be matched by what they say"
                if each.transfer_id not in proved:
                    raise NodesDisagree(chain.network, reason)
                services.log.error("node denies what is proved", extra={"network": chain.network, "reason": reason})
                other.distrust()
    return found, logs


def _check_own(chain: "Chain", entries: Sequence[LoggedTransfer]) -> tuple[Collection[str], RawReceipts]:
    """The transactions that have a repeated transfer and whose receipts the node does not return now, for which it is
    not to blame: anybody can make a receipt that is too large. And the receipts that it returns.

    Raises InconsistentNode if a receipt does not have a transfer.
    """
    repeated = sorted({each.tx_hash for each in entries if _is_repeated(each)})
    if not repeated:
        return (), {}
    try:
        receipts: RawReceipts = first_node_of(chain).find_receipts(repeated)
        there = _in_logs(chain, logs_in(receipts), entries)
    except InconsistentNode:
        raise
    except ChainUnavailable:
        return repeated, {}
    for each in entries:
        if each.tx_hash in receipts and each.transfer_id not in there:
            if isinstance(chain, Node):
                chain.distrust()
            raise InconsistentNode(chain.network, f"log {each.log_index} of {each.tx_hash} is not in the receipt")
    return set(repeated) - receipts.keys(), receipts


def read_verdicts(
    chain: "Chain | Node", number: int, entries: Sequence[LoggedTransfer]
) -> tuple[Mapping[TransferId, bool], Logs]:
    """Whether a node has each transfer in the receipts of the block, nothing of those of which it does not say; and the
    logs in these receipts."""
    try:
        block = chain.read_receipts(number, sorted({each.tx_hash for each in entries}))
        there = _in_logs(chain, block.all_logs, entries)
    except ChainUnavailable:
        return {}, ()
    known = [each for each in entries if each.block_hash == block.hash and each.tx_hash in block.logs]
    return {each.transfer_id: each.transfer_id in there for each in known}, block.all_logs


def _in_logs(chain: "Chain | Node", logs: Logs, entries: Sequence[LoggedTransfer]) -> set[TransferId]:
    """The transfers that some logs have. Raises as `transfers_of`."""
    found = transfers_of(chain.network, logs, chain.escrow, addresses_of_emptied(entries))
    there = {(each.tx_hash, each.block_hash, each.event_key) for each in found}
    return {each.transfer_id for each in entries if (each.tx_hash, each.block_hash, each.event_key) in there}


def _is_repeated(each: LoggedTransfer) -> bool:
    """Whether a transfer is compared with the node's own receipts: it is listed twice, or is a payment because an event
    is not listed."""
    return not each.event_key.endswith("-0") or each.emptied_address is not None
