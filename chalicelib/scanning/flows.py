"""Scanning: reads the next confirmed blocks of a network into the transfer log, and follows its forks.

    blocks ── logs ── transfers ── known references ── entries of the log ── work for the recorder ── cursor ── hints

The log and the work are written before the cursor moves, and writing them again changes nothing. So a range is read
again after a crash or a race, never skipped. No link, payment or webhook is read here: the cost of a tick depends on
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
from chalicelib.requests import store as request_store
from chalicelib.scanning import rules, store, transfer_log
from chalicelib.scanning.records import Cursor, LoggedTransfer, ScanLease, UnrecordedTransfers
from chalicelib.scanning.rules import NetworkStatus
from chalicelib.scanning.transfer_log import Replaced
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
class _Written:
    """How many entries were new, and the links that have work now."""

    new: int
    links: tuple[str, ...]


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
    found = refusals = 0
    for _ in range(_RANGES_PER_TICK):
        blocks = rules.next_range(cursor, head, confirmations)
        if blocks is None:
            return found + _verify(services, chain, cursor)
        if services.clock() >= deadline:
            break
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected:
            cursor = _follow_fork(services, chain, cursor, rules.confirmed_height(head, confirmations))
            continue
        except RangeTooLarge as error:
            _log_refusal(services, name, blocks, error)
            cursor, refusals = _store_cursor(services, rules.narrow(cursor)), refusals + 1
            if refusals == _REFUSALS_PER_TICK:
                break
            continue
        try:
            written = _write_log(services, cursor, _matched(services, chain, reading))
        except Throttled:
            services.log.warning("transfer log throttled", extra={"network": name})
            _store_cursor(services, rules.narrow(cursor))
            break
        found += written.new
        cursor = _advanced(services, cursor, blocks, reading, facts.log_range)
        cursor = _store_cursor(services, rules.with_verifications(cursor, services.clock()))
        hint(services, written.links)
    return found


def _verify(services: Services, chain: "Chain", cursor: Cursor) -> int:
    """Reads old blocks again, at most one range of each verification; returns how many transfers were missing.

    After the last verification the recorder compares the totals of the links that were paid in these blocks.
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
        found = _matched(services, chain, reading)
        written = _write_log(services, cursor, found)
        if written.new:
            services.log.error("transfers were missing", extra={"network": cursor.network, "count": written.new})
        missing += written.new
        cursor = _store_cursor(services, rules.verified(cursor, index, blocks.last))
        hint(services, written.links)
        if index == len(cursor.verifications) - 1:
            hint(services, {entry.link_token for entry in found}, reconcile=True)
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


def hint(services: Services, tokens: Iterable[str], reconcile: bool = False) -> None:
    """Queues a message for the recorder per link, which can also ask it to compare the link's totals.

    Never raises: the sweep finds what is not recorded.
    """
    also = {"reconcile": True} if reconcile else {}
    messages = [Message({"link": token, **also}, token) for token in tokens]
    send_hints(services.queue, services.log, services.settings.recordings_queue, messages)


def _matched(services: Services, chain: "Chain", reading: RangeReading) -> list[LoggedTransfer]:
    """The entries for the transfers of a range that have the reference of a request.

    Raises InconsistentNode if the node gives logs of other blocks than its canonical ones.
    """
    transfers = transfer_log.counting(logs.transfers_of(chain.network, reading.logs))
    found = request_store.references(services.store, {transfer.reference_topic for transfer in transfers})
    links = {reference.topic: reference.link_token for reference in found}
    matched = [transfer for transfer in transfers if transfer.reference_topic in links]
    return transfer_log.entries(_dated(chain, matched), links, services.clock())


def _dated(chain: "Chain", transfers: list[ProxyTransfer]) -> Iterable[ProxyTransfer]:
    """The transfers with the times of their blocks. No call to the node if there are no transfers."""
    if not transfers:
        return ()
    return logs.with_block_times(transfers, chain.block_facts(sorted({each.block_number for each in transfers})))


def _write_log(services: Services, cursor: Cursor, found: list[LoggedTransfer]) -> _Written:
    """Writes the entries that are new, and the work for all that are not recorded. Raises Throttled."""
    if not found:
        return _Written(0, ())
    stored = store.logged(services.store, cursor.network, [entry.transfer_id for entry in found])
    for entry in transfer_log.reindexed(found, stored):
        reason = f"{entry.tx_hash} had another log index before in the same block"
        services.log.error("node contradicts itself", extra={"network": entry.network, "reason": reason})
    new = [entry for entry in found if entry.transfer_id not in stored]
    work = transfer_log.work(transfer_log.unrecorded(found, stored), cursor.version, services.clock())
    return _write(services, new, work)


def _write(services: Services, new: list[LoggedTransfer], work: list[UnrecordedTransfers]) -> _Written:
    """Entries first: the recorder finds every entry that its work names."""
    services.store.put_many(new)
    services.store.put_many(work)
    return _Written(len(new), tuple(dict.fromkeys(part.link_token for part in work)))


def _follow_fork(services: Services, chain: "Chain", cursor: Cursor, newest: int) -> Cursor:
    """Reads the blocks that replaced those after the newest common one; returns the cursor after them.

    The transfers of the replaced blocks and those of the new ones become work for the recorder, a transfer that is in
    both as one that moved. Nothing is undone before every new block was read, and before the node's receipts confirm
    that what is missing is gone. The range after the cursor is read as well, as far as its blocks are confirmed,
    because a fork often moves transactions into later blocks. Raises ChainUnavailable if the chain forks again
    meanwhile, or if a block is refused.
    """
    canonical = chain.block_hashes([checkpoint.number for checkpoint in cursor.checkpoints])
    common = rules.roll_back(cursor, canonical)
    facts = {"network": cursor.network, "from_block": cursor.scanned_to, "to_block": common.scanned_to}
    services.log.error("fork deeper than the confirmations", extra=facts)
    last = min(cursor.scanned_to + cursor.range_limit, newest)
    followed, added = _read_again(services, chain, common, last)
    logged = store.logged_in(services.store, cursor.network, common.scanned_to + 1, cursor.scanned_to)
    hashes = chain.block_hashes(sorted({entry.block_number for entry in logged}))
    removed = transfer_log.removed_by_fork(logged, hashes)
    gone = transfer_log.vanished(removed, added)
    blocks_of = chain.blocks_of_transactions(sorted({entry.tx_hash for entry in gone}))
    transfer_log.check_vanished(cursor.network, gone, blocks_of, last)
    stored = store.logged(services.store, cursor.network, [entry.transfer_id for entry in added])
    new = [entry for entry in added if entry.transfer_id not in stored]
    replaced = Replaced(tuple(removed), tuple(added))
    written = _write(services, new, transfer_log.work_of_fork(replaced, cursor.version, services.clock()))
    followed = _store_cursor(services, followed)
    hint(services, written.links)
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
