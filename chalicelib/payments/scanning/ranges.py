"""What a range of blocks adds to the transfer log, and where the cursor stands after it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes import logs
from chalicelib.chains.nodes.logs import BlockRange, Checkpoint, ProxyTransfer
from chalicelib.chains.nodes.nodes import check_others
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
from chalicelib.chains.nodes.ranges import BlockRefused, RangeReading, RangeTooLarge
from chalicelib.chains.nodes.transfers import transfers_of
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.scanning import disproof, evidence, rules, store, transfer_log, watching
from chalicelib.payments.scanning.details import Details
from chalicelib.payments.scanning.records import Cursor, Evidence, LoggedBlock, LoggedTransfer, UnrecordedTransfers
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain


@frozen
class Found:
    """What some blocks add to the log: the entries that are new, and work for the recorder."""

    new: tuple[LoggedTransfer, ...] = ()
    work: tuple[UnrecordedTransfers, ...] = ()

    @property
    def payables(self) -> dict[str, str]:
        """The accounts of the payables with work, by their ids."""
        return {part.payable_id: part.account_id for part in self.work}


def matched(
    services: Services, chain: "Chain", reading: RangeReading, blocks: BlockRange, watched: Sequence[PlainAddress]
) -> list[LoggedTransfer]:
    """The entries for the transfers of a range that have the reference of a request, or that emptied one of the
    `watched` addresses without an event.

    Raises RangeTooLarge if the node does not return the transfers of these addresses, InconsistentNode if it gives logs
    of other blocks than its canonical ones, NodesDisagree if another node of the network has other blocks.
    """
    logs = (*reading.logs, *watching.transfers(chain, blocks, watched))
    transfers = transfer_log.counting(transfers_of(chain.network, logs, chain.escrow, watched))
    found = request_store.references(services.store, {transfer.reference_topic for transfer in transfers})
    payables = {each.topic: transfer_log.PayableId(each.payable_id, each.account_id) for each in found}
    matched = [transfer for transfer in transfers if transfer.reference_topic in payables]
    return transfer_log.entries(_dated(chain, matched), payables, services.clock())


def _dated(chain: "Chain", transfers: list[ProxyTransfer]) -> Iterable[ProxyTransfer]:
    """The transfers with the times of their blocks, which no other node denies. No call if there are none."""
    if not transfers:
        return ()
    facts = chain.block_facts(sorted({each.block_number for each in transfers}))
    check_others(chain, {number: block.hash for number, block in facts.items()})
    return logs.with_block_times(transfers, facts)


def not_recorded(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    found: list[LoggedTransfer],
    proved_blocks: Collection[int] = (),
) -> Found:
    """The entries among these that are new, with their details, and the work for all that are not recorded.

    Raises as `disproof.check` if a new one is not in the receipts.
    """
    if not found:
        return Found()
    stored = store.logged(services.store, cursor.network, [entry.transfer_id for entry in found])
    for entry in transfer_log.reindexed(found, stored):
        reason = f"{entry.tx_hash} had another log index before in the same block"
        services.log.error("node contradicts itself", extra={"network": entry.network, "reason": reason})
    new = tuple(entry for entry in found if entry.transfer_id not in stored)
    disproof.check(services, chain, new, details.family, proved_blocks)
    work = transfer_log.work(transfer_log.unrecorded(found, stored), cursor.version, services.clock())
    return Found(details.of(new), tuple(work))


def not_found_again(
    services: Services,
    chain: "Chain",
    details: Details,
    cursor: Cursor,
    blocks: BlockRange,
    found: list[LoggedTransfer],
) -> tuple[Found, bool]:
    """The work of undoing what the log has of blocks that were read again and no node has in receipts, and whether that
    is undecided of some transfers (disproof.py)."""
    logged = store.logged_again(services.store, cursor.network, blocks.first, blocks.last)
    missing = transfer_log.missing(logged, found)
    gone, is_open = disproof.disproved(services, chain, missing, details.deadline) if missing else ([], False)
    return Found((), tuple(transfer_log.work_of_fork(gone, (), cursor.version, services.clock()))), is_open


def unfinished(
    services: Services, cursor: Cursor, blocks: BlockRange, new: Sequence[LoggedTransfer] = ()
) -> Cursor:
    """The cursor with these blocks as unfinished, written before any of their new entries is.

    Those that were read before and are said to have more now are unproved from then on: one node may say so alone.
    """
    late = [each.block_number for each in new if each.block_number <= cursor.scanned_to]
    if late:
        doubted = evidence.doubted(cursor.weak, BlockRange(min(late), max(late)), services.clock())
        cursor = replace(cursor, weak=doubted)
    return store_cursor(services, replace(cursor, unfinished=blocks))


def write(services: Services, found: Found) -> None:
    """Entries first: the recorder finds every entry that its work names. Raises Throttled."""
    blocks = {(each.network, each.block_number): each.detected_at for each in found.new}
    marks = [LoggedBlock(network, number, logged_at) for (network, number), logged_at in blocks.items()]
    services.store.put_many([*marks, *found.new])
    services.store.put_many(found.work)


def log_refusal(services: Services, name: str, blocks: BlockRange, error: RangeTooLarge) -> None:
    """A refused range is halved, but a single block of which the node does not return the receipts either stops the
    network until it does."""
    facts = {"network": name, "first": blocks.first, "last": blocks.last, "reason": str(error)}
    if isinstance(error, BlockRefused):
        services.log.error("block refused by the node", extra=facts)
    else:
        services.log.warning("range refused by the node", extra=facts)


def advanced(
    services: Services, cursor: Cursor, blocks: BlockRange, reading: RangeReading, limit: int, evidence: Evidence
) -> Cursor:
    last = Checkpoint(blocks.last, reading.last.hash)
    return rules.advance(cursor, last, reading.last.time, limit, services.clock(), evidence, reading.is_full)


def store_cursor(services: Services, cursor: Cursor) -> Cursor:
    """Writes the cursor. Raises WriteConflict, which ends this tick, if another tick of the network wrote it first."""
    return services.store.write(cursor)
