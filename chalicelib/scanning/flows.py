"""Scanning: reads the next confirmed blocks of a network into the transfer log, and follows its forks.

    blocks ── logs ── transfers ── known references ── details ── log ── work for the recorder ── cursor ── hints

The log and the work are written before the cursor moves, and writing them again changes nothing. So a range is read
again after a crash or a race, never skipped. No request, payment or webhook is read here: the cost of a tick depends on
blocks and events only.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.catalogue.networks import ALL_NETWORKS, Network, network
from chalicelib.chain import logs
from chalicelib.chain.logs import BlockRange, Checkpoint, ProxyTransfer
from chalicelib.chain.ranges import BlockRefused, Disconnected, RangeReading, RangeTooLarge
from chalicelib.chain.transfers import transfers_of
from chalicelib.requests import store as request_store
from chalicelib.scanning import rules, store, transfer_log
from chalicelib.scanning.details import Details
from chalicelib.scanning.records import Cursor, LoggedTransfer, ScanLease, UnrecordedTransfers
from chalicelib.scanning.rules import NetworkStatus
from chalicelib.services import Services
from chalicelib.storage.queue import Message, send_hints
from chalicelib.storage.store import Throttled, WriteConflict

if TYPE_CHECKING:
    from chalicelib.chain.protocol import Chain

_RANGES_PER_TICK = 20
"""The most ranges that one tick reads; the next tick continues from there."""
_TIME_PER_TICK = timedelta(seconds=20)
"""A tick starts no new range after this time. The process timeout is much longer, because a node's response may take
seconds."""
_REFUSALS_PER_TICK = 3
"""A tick ends after this many ranges that the node refused or timed out on; the next ticks halve the range further."""


@frozen
class _Found:
    """What some blocks add to the log: the entries that are new, and work for the recorder."""

    new: tuple[LoggedTransfer, ...] = ()
    work: tuple[UnrecordedTransfers, ...] = ()

    @property
    def bill_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.bill_id for part in self.work))


def scan(services: Services, name: str) -> int:
    """Runs one tick of a network: reads it up to its newest confirmed block. Returns how many new transfers were found.

    Does nothing while another tick of the network is running. Raises ChainUnavailable, and WriteConflict if another
    tick was faster all the same.
    """
    lease = rules.take_lease(store.lease(services.store, name), name, services.clock())
    if lease is None:
        return 0
    try:
        services.store.write(lease)
    except WriteConflict:
        return 0
    try:
        return _scan(services, name)
    finally:
        _release(services, replace(lease, version=lease.version + 1))


def _scan(services: Services, name: str) -> int:
    deadline = services.clock() + _TIME_PER_TICK
    chain, facts = services.chains.of(name), _network(name)
    confirmations = services.settings.confirmations.get(name, facts.confirmations)
    head = chain.head()
    cursor = store.cursor(services.store, name)
    if cursor is None:
        cursor = rules.first_cursor(name, head, confirmations, facts.log_range)
        cursor = rules.with_verifications(cursor, services.clock())
    details = Details(services, facts, deadline)
    if cursor.unfinished is not None:
        if rules.confirmed_height(head, confirmations) < rules.last_logged(cursor):
            return 0
        cursor = _follow_fork(services, chain, details, cursor, rules.confirmed_height(head, confirmations))
    count = refusals = 0
    for _ in range(_RANGES_PER_TICK):
        blocks = rules.next_range(cursor, head, confirmations)
        if blocks is None:
            return count + _verify(services, chain, details, cursor)
        if services.clock() >= deadline:
            break
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected:
            place = {"network": name, "read_to": cursor.scanned_to}
            services.log.error("fork deeper than the confirmations", extra=place)
            cursor = _follow_fork(services, chain, details, cursor, rules.confirmed_height(head, confirmations))
            continue
        except RangeTooLarge as error:
            _log_refusal(services, name, blocks, error)
            cursor, refusals = _store_cursor(services, rules.narrow(cursor)), refusals + 1
            if refusals == _REFUSALS_PER_TICK:
                break
            continue
        found = _not_recorded(services, details, cursor, _matched(services, chain, reading))
        cursor = _begin(services, cursor, blocks, found)
        try:
            _write(services, found)
        except Throttled:
            services.log.warning("transfer log throttled", extra={"network": name})
            _store_cursor(services, rules.narrow(cursor))
            break
        count += len(found.new)
        cursor = _advanced(services, cursor, blocks, reading, facts.log_range)
        cursor = _store_cursor(services, rules.with_verifications(cursor, services.clock()))
        hint(services, found.bill_ids)
    return count


def _verify(services: Services, chain: "Chain", details: Details, cursor: Cursor) -> int:
    """Reads old blocks again, at most one range of each verification; returns how many transfers were missing.

    After the last verification the recorder compares the totals of the bills that were paid in these blocks. The blocks
    are not marked as unfinished: the cursor has checkpoints after them, so a fork that removes them is noticed, and if
    the tick dies, they are read again.
    """
    missing = 0
    for index in range(len(cursor.verifications)):
        blocks = rules.blocks_to_verify(cursor, index, services.clock())
        if blocks is None:
            continue
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected:
            return missing  # a fork, which is followed when the next block is read
        except RangeTooLarge as error:
            _log_refusal(services, cursor.network, blocks, error)
            _store_cursor(services, rules.narrow(cursor))
            return missing
        matched = _matched(services, chain, reading)
        found = _not_recorded(services, details, cursor, matched)
        _write(services, found)
        if found.new:
            services.log.error("transfers were missing", extra={"network": cursor.network, "count": len(found.new)})
        missing += len(found.new)
        cursor = _store_cursor(services, rules.verified(cursor, index, blocks.last))
        hint(services, found.bill_ids)
        if index == len(cursor.verifications) - 1:
            hint(services, {entry.bill_id for entry in matched}, reconcile=True)
    return missing


def status(services: Services) -> tuple[NetworkStatus, ...]:
    """How far each network of this deployment is read. One read; no call to a node.

    If the list of nodes cannot be read, the networks are those that were ever scanned.
    """
    try:
        served = [name for name in services.chains.networks if network(name) is not None]
    except Exception:  # whatever Secrets Manager raises: an outage is when the status is needed
        services.log.exception("list of nodes not read")
        served = []
    names = served or [each.name for each in ALL_NETWORKS]
    cursors = store.cursors(services.store, names)
    settings, now = services.settings, services.clock()
    interval = timedelta(seconds=settings.scan_interval_seconds)
    return tuple(
        rules.network_status(
            name, cursors.get(name), settings.confirmations.get(name, _network(name).confirmations), interval, now
        )
        for name in (served or cursors)
    )


def hint(services: Services, bill_ids: Iterable[str], reconcile: bool = False) -> None:
    """Queues a message for the recorder per bill, which can also ask it to compare the bill's totals.

    Never raises: the sweep finds what is not recorded.
    """
    also = {"reconcile": True} if reconcile else {}
    messages = [Message({"link": bill_id, **also}, bill_id) for bill_id in bill_ids]
    send_hints(services.queue, services.log, services.settings.recordings_queue, messages)


def _matched(services: Services, chain: "Chain", reading: RangeReading) -> list[LoggedTransfer]:
    """The entries for the transfers of a range that have the reference of a request.

    Raises InconsistentNode if the node gives logs of other blocks than its canonical ones.
    """
    transfers = transfer_log.counting(transfers_of(chain.network, reading.logs))
    found = request_store.references(services.store, {transfer.reference_topic for transfer in transfers})
    bills = {reference.topic: reference.bill_id for reference in found}
    matched = [transfer for transfer in transfers if transfer.reference_topic in bills]
    return transfer_log.entries(_dated(chain, matched), bills, services.clock())


def _dated(chain: "Chain", transfers: list[ProxyTransfer]) -> Iterable[ProxyTransfer]:
    """The transfers with the times of their blocks. No call to the node if there are no transfers."""
    if not transfers:
        return ()
    return logs.with_block_times(transfers, chain.block_facts(sorted({each.block_number for each in transfers})))


def _not_recorded(services: Services, details: Details, cursor: Cursor, found: list[LoggedTransfer]) -> _Found:
    """The entries among these that are new, with their details, and the work for all that are not recorded."""
    if not found:
        return _Found()
    stored = store.logged(services.store, cursor.network, [entry.transfer_id for entry in found])
    for entry in transfer_log.reindexed(found, stored):
        reason = f"{entry.tx_hash} had another log index before in the same block"
        services.log.error("node contradicts itself", extra={"network": entry.network, "reason": reason})
    new = tuple(entry for entry in found if entry.transfer_id not in stored)
    work = transfer_log.work(transfer_log.unrecorded(found, stored), cursor.version, services.clock())
    return _Found(details.of(new), tuple(work))


def _begin(services: Services, cursor: Cursor, blocks: BlockRange, found: _Found) -> Cursor:
    """The cursor with these blocks as unfinished, written before any of their new entries is."""
    return _unfinished(services, cursor, blocks) if found.new else cursor


def _unfinished(services: Services, cursor: Cursor, blocks: BlockRange) -> Cursor:
    return _store_cursor(services, replace(cursor, unfinished=blocks))


def _write(services: Services, found: _Found) -> None:
    """Entries first: the recorder finds every entry that its work names. Raises Throttled."""
    services.store.put_many(found.new)
    services.store.put_many(found.work)


def _follow_fork(services: Services, chain: "Chain", details: Details, cursor: Cursor, newest: int) -> Cursor:
    """Reads the blocks that replaced those after the newest common one; returns the cursor after them.

    The transfers of the replaced blocks and those of the new ones become work for the recorder, a transfer that is in
    both as one that moved. Nothing is undone before every new block was read, and before the node's receipts confirm
    that what is missing is gone. Blocks that are unfinished are read again, too: a fork may have replaced them before
    the cursor had a checkpoint of them. The range after the cursor is read as well, as far as its blocks are confirmed,
    because a fork often moves transactions into later blocks. Raises ChainUnavailable if the chain forks again
    meanwhile, or if a block is refused.
    """
    canonical = chain.block_hashes([checkpoint.number for checkpoint in cursor.checkpoints])
    common = rules.roll_back(cursor, canonical)
    logged_to = rules.last_logged(cursor)
    last = max(min(cursor.scanned_to + cursor.range_limit, newest), logged_to)
    followed, added = _read_again(services, chain, common, last)
    logged = store.logged_in(services.store, cursor.network, common.scanned_to + 1, logged_to)
    hashes = chain.block_hashes(sorted({entry.block_number for entry in logged}))
    removed = transfer_log.removed_by_fork(logged, hashes, added)
    gone = transfer_log.vanished(removed, added)
    receipts = chain.logs_of_transactions(sorted({entry.tx_hash for entry in gone}))
    transfer_log.check_vanished(cursor.network, gone, transfers_of(cursor.network, receipts), last)
    stored = store.logged(services.store, cursor.network, [entry.transfer_id for entry in added])
    new = tuple(entry for entry in added if entry.transfer_id not in stored)
    work = transfer_log.work_of_fork(removed, added, cursor.version, services.clock())
    found = _Found(details.of(new), tuple(work))
    cursor = _unfinished(services, cursor, BlockRange(common.scanned_to + 1, last))
    _write(services, found)
    followed = _store_cursor(services, replace(followed, version=cursor.version))
    hint(services, found.bill_ids)
    return followed


def _read_again(
    services: Services, chain: "Chain", common: Cursor, last: int
) -> tuple[Cursor, list[LoggedTransfer]]:
    """The cursor after the blocks up to `last`, read from the common ancestor on, and their matched transfers."""
    cursor, found = common, list[LoggedTransfer]()
    while cursor.scanned_to < last:
        blocks = BlockRange(cursor.scanned_to + 1, min(cursor.scanned_to + cursor.range_limit, last))
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected as error:
            raise ChainUnavailable(f"The {cursor.network} chain forked again while a fork was read") from error
        except RangeTooLarge as error:
            if isinstance(error, BlockRefused):
                raise ChainUnavailable(f"The {cursor.network} node refuses block {blocks.first}") from error
            cursor = rules.narrow(cursor)
            continue
        found += _matched(services, chain, reading)
        cursor = _advanced(services, cursor, blocks, reading, cursor.range_limit)
    return cursor, found


def _log_refusal(services: Services, name: str, blocks: BlockRange, error: RangeTooLarge) -> None:
    """A refused range is halved, but a single block that is refused stops the network until the node returns it."""
    facts = {"network": name, "first": blocks.first, "last": blocks.last, "reason": str(error)}
    if isinstance(error, BlockRefused):
        services.log.error("block refused by the node", extra=facts)
    else:
        services.log.warning("range refused by the node", extra=facts)


def _advanced(services: Services, cursor: Cursor, blocks: BlockRange, reading: RangeReading, limit: int) -> Cursor:
    last = Checkpoint(blocks.last, reading.last.hash)
    return rules.advance(cursor, last, reading.last.time, limit, services.clock())


def _store_cursor(services: Services, cursor: Cursor) -> Cursor:
    """Writes the cursor. Raises WriteConflict, which ends this tick, if another tick of the network wrote it first."""
    services.store.write(cursor)
    return replace(cursor, version=cursor.version + 1)


def _release(services: Services, lease: ScanLease) -> None:
    """Ends the lease, so that the next tick can start. It ends by itself if another tick has taken it over."""
    try:
        services.store.write(replace(lease, ends_at=services.clock()))
    except WriteConflict:
        return


def _network(name: str) -> Network:
    found = network(name)
    assert found is not None, "only catalogued networks are scanned"
    return found
