"""What a range of blocks adds to the transfer log, and where the cursor stands after it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chalicelib.base.frozen import frozen, make_from
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, RangeReading, RangeTooLarge
from chalicelib.chains.nodes.history.logs import (
    BlockRange,
    Checkpoint,
    InconsistentNode,
    with_block_times,
)
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.nodes import Node
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.scanning import evidence, rules, store, transfer_log, watched_addresses
from chalicelib.payments.scanning.checks import comparison
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.records import (
    Cursor,
    DeferredTransaction,
    Evidence,
    LoggedBlock,
    LoggedTransfer,
    TransferId,
    UnrecordedTransfers,
)
from chalicelib.payments.scanning.transfer_log import Logs, Matched
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain


@frozen
class Found:
    """What some blocks add to the log: the entries that are new, and work for the recorder.

    `alone` are those of the new ones that one node alone has, as the others are silent. `deferred` are transfers that
    are not recorded (DeferredTransaction). `answered` are the hosts of other nodes that said something of them.
    """

    new: tuple[LoggedTransfer, ...] = ()
    work: tuple[UnrecordedTransfers, ...] = ()
    alone: tuple[LoggedTransfer, ...] = ()
    deferred: tuple[LoggedTransfer, ...] = ()
    answered: frozenset[str] = frozenset()

    def __add__(self, more: "Found") -> "Found":
        alone, deferred = self.alone + more.alone, self.deferred + more.deferred
        return Found(self.new + more.new, self.work + more.work, alone, deferred, self.answered | more.answered)

    @property
    def payables(self) -> dict[str, str]:
        """The accounts of the payables with work, by their ids."""
        return {part.payable_id: part.account_id for part in self.work}


def match_transfers(
    services: Services,
    chain: "Chain",
    listed: Sequence[Mapping[str, Any]],
    blocks: BlockRange,
    watched: Sequence[PlainAddress],
) -> Matched:
    """The entries for the transfers listed of a range that have the reference of a request, or that emptied one of the
    `watched` addresses without an event.

    Those that are not in the log have the times of their blocks, and what the node lists of what arrived of them, by
    one request. Raises RangeTooLarge if the node does not return the transfers of the `watched` addresses,
    InconsistentNode if it gives logs of other blocks than its canonical ones.
    """
    logs = (*listed, *watched_addresses.transfers(chain, blocks, watched))
    try:
        transfers = transfer_log.counting(transfers_of(chain.network, logs, chain.escrow, watched))
    except InconsistentNode:
        if isinstance(chain, Node):
            chain.distrust()
        raise
    found = request_store.references(services.store, {transfer.reference_topic for transfer in transfers})
    payables = {each.topic: transfer_log.PayableId(each.payable_id, each.account_id) for each in found}
    ids = {each: make_from(TransferId, each) for each in transfers if each.reference_topic in payables}
    stored = store.find_logged(services.store, chain.network, ids.values())
    kept = {each for each, place in ids.items() if transfer_log.is_kept(stored, place)}
    dated = [replace(each, paid_at=stored[ids[each]].paid_at) for each in kept]
    new = [each for each in ids if each not in kept]
    if new:
        from chalicelib.payments.scanning.checks.arrivals import transfer_filters  # most ticks find no payment

        read = chain.read_transfers(transfer_filters(new))
        dated += with_block_times(new, {number: each.facts for number, each in read.items()})
        logs = (*logs, *(log for each in read.values() for log in each.transfers))
    return Matched(transfer_log.entries_of(dated, payables, services.clock()), stored, logs)


def not_recorded(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    matched: Matched,
    proved: Logs = (),
) -> Found:
    """The entries among these that are new, with their details, and the work for all that are not recorded: those that
    are new or were taken back as far as they are agreed on.

    Raises as `comparison.check`.
    """
    found, stored = matched.entries, matched.stored
    if not found:
        return Found()
    for entry in transfer_log.find_reindexed(found, stored):
        reason = f"{entry.tx_hash} had another log index before in the same block"
        facts = {"network": entry.network, "reason": reason}
        if isinstance(chain, Node):  # the index was that of another node
            services.log.info("nodes number logs differently", extra=facts)
        else:
            services.log.error("node contradicts itself", extra=facts)
    listed = matched.to_compare
    to_check = _not_deferred(services, cursor, listed)
    compared = comparison.check(services, chain, cursor, to_check, matched.logs, proved)
    not_agreed = {entry.transfer_id for entry in listed} - {entry.transfer_id for entry in compared.agreed}
    recorded = [entry for entry in found if entry.transfer_id not in not_agreed]
    work = transfer_log.work(transfer_log.select_unrecorded(recorded, stored), cursor.version, services.clock())
    new = tuple(entry for entry in compared.agreed if entry.transfer_id not in stored)
    return Found(
        details.of(new, compared.receipts), tuple(work), compared.alone, compared.deferred, compared.answered
    )


def _not_deferred(services: Services, cursor: Cursor, new: tuple[LoggedTransfer, ...]) -> tuple[LoggedTransfer, ...]:
    """The transfers that are not deferred already. No read while nothing is."""
    if cursor.deferred_from is None or not new:
        return new
    deferred = store.find_deferred(services.store, cursor.network, {(each.block_number, each.tx_hash) for each in new})
    return tuple(each for each in new if (each.block_number, each.tx_hash) not in deferred)


def not_found_again(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    blocks: BlockRange,
    found: Sequence[LoggedTransfer],
) -> tuple[Found, bool]:
    """The work of undoing what the log has of blocks that were read again and no node has in receipts, and whether that
    is undecided of some transfers (reversal.py)."""
    logged = store.list_logged_again(services.store, cursor.network, blocks.first, blocks.last)
    missing = transfer_log.missing(logged, found)
    if not missing:
        return Found(), False
    from chalicelib.payments.scanning.checks.reversal import to_reverse  # most messages take nothing back

    gone, is_open = to_reverse(services, chain, missing, details.deadline)
    return Found((), tuple(transfer_log.work_of_fork(gone, (), cursor.version, services.clock()))), is_open


def mark_unfinished(services: Services, cursor: Cursor, blocks: BlockRange, found: Found | None = None) -> Cursor:
    """The cursor with these blocks as unfinished, written before any of their new entries is.

    Those that were read before and are said to have more now are unproved from then on: one node may say so alone.
    """
    found = found or Found()
    late = [each.block_number for each in found.new if each.block_number <= cursor.scanned_to]
    cursor = with_undecided(cursor, found)
    if late:
        doubted = evidence.doubt_blocks(cursor.weak, BlockRange(min(late), max(late)), services.clock())
        cursor = replace(cursor, weak=doubted)
    return store_cursor(services, replace(cursor, unfinished=blocks))


def with_undecided(cursor: Cursor, found: Found) -> Cursor:
    """The cursor with the blocks of what one node alone has, and with whether something is deferred; without nodes that
    are not silent any more."""
    silent, of_transfers = (
        tuple(each for each in nodes if each.host not in found.answered)
        for nodes in (cursor.silent, cursor.silent_of_transfers)
    )
    cursor = replace(cursor, silent=silent, silent_of_transfers=of_transfers)
    numbers = [each.block_number for each in found.alone]
    if numbers:
        numbers += cursor.alone.ends if cursor.alone else ()
        cursor = replace(cursor, alone=BlockRange(min(numbers), max(numbers)))
    if found.deferred and cursor.deferred_from is None:
        cursor = replace(cursor, deferred_from="")
    return cursor


def write(services: Services, found: Found) -> None:
    """Entries first: the recorder finds every entry that its work names. Raises Throttled."""
    blocks = {(each.network, each.block_number): each.detected_at for each in found.new}
    marks = [LoggedBlock(network, number, logged_at) for (network, number), logged_at in blocks.items()]
    deferred = deferred_transactions(found)
    for each in deferred:
        facts = {"network": each.network, "tx_hash": each.tx_hash, "block": each.block_number}
        services.log.error("transaction deferred", extra=facts)
    services.store.put_many([*deferred, *marks, *found.new])
    services.store.put_many(found.work)


def deferred_transactions(found: Found) -> list[DeferredTransaction]:
    """The transactions of the transfers that are not recorded, each once."""
    places = {(each.block_number, each.tx_hash): each for each in found.deferred}
    return [
        DeferredTransaction(each.network, number, tx_hash, each.detected_at)
        for (number, tx_hash), each in places.items()
    ]


def log_refusal(services: Services, name: str, blocks: BlockRange, error: RangeTooLarge) -> None:
    """A refused range is halved, but a single block of which the node does not return the receipts either stops the
    network until it does."""
    facts = {"network": name, "first": blocks.first, "last": blocks.last, "reason": str(error)}
    if isinstance(error, BlockRefused):
        services.log.error("block refused by the node", extra=facts)
    else:
        services.log.warning("range refused by the node", extra=facts)


def advance_cursor(
    services: Services,
    chain: "Chain",
    cursor: Cursor,
    blocks: BlockRange,
    reading: RangeReading,
    limit: int,
    evidence: Evidence,
) -> Cursor:
    """The cursor after a range was read. What ends by time waits until a comparison of several nodes (nodes.py)."""
    last = Checkpoint(blocks.last, reading.last.hash)
    after = rules.advance(cursor, last, reading.last.time, limit, services.clock(), evidence, reading.is_full)
    return after if isinstance(chain, Node) else replace(after, agreed_until=after.read_until)


def store_cursor(services: Services, cursor: Cursor) -> Cursor:
    """Writes the cursor. Raises WriteConflict, which ends this tick, if another tick of the network wrote it first."""
    return services.store.write(cursor)
