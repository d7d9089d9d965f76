"""Reads of cursors, leases, the transfer log, and the recorder's work."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from chalicelib.base.records import FIRST_SORT_KEY
from chalicelib.payments.scanning.records import (
    BLOCKS_PER_PARTITION,
    OWNED_BY,
    WAITING,
    Cursor,
    DeferredTransaction,
    LoggedBlock,
    LoggedTransfer,
    ScanLease,
    TransferId,
    UnrecordedTransfers,
)
from chalicelib.platform.storage.store import Store


def cursor(store: Store, network: str) -> Cursor | None:
    """The cursor of a network; None before its first scan. One read."""
    return store.get(Cursor, Cursor.KEY.of(network=network))


def cursors(store: Store, networks: Iterable[str]) -> dict[str, Cursor]:
    """The cursors of those networks that have one, by network. One read."""
    found = store.get_many({Cursor.KEY.of(network=network): Cursor for network in networks})
    return {each.network: each for each in found.values()}


def lease(store: Store, network: str) -> ScanLease | None:
    """One read."""
    return store.get(ScanLease, ScanLease.KEY.of(network=network))


def find_logged(store: Store, network: str, ids: Iterable[TransferId]) -> dict[TransferId, LoggedTransfer]:
    """The log's entries with these ids, without those that do not exist; read in batches of 100."""
    of = LoggedTransfer.KEY.of
    keys = (of(network=network, partition=each.block_number // BLOCKS_PER_PARTITION, **vars(each)) for each in ids)
    found = store.get_many(dict.fromkeys(keys, LoggedTransfer))
    return {entry.transfer_id: entry for entry in found.values()}


def list_logged(store: Store, network: str, first: int, last: int) -> list[LoggedTransfer]:
    """The log's entries of the blocks from `first` to `last`, in block order. One query per two blocks."""
    found: list[LoggedTransfer] = []
    for partition in range(first // BLOCKS_PER_PARTITION, last // BLOCKS_PER_PARTITION + 1):
        entries = store.query(LoggedTransfer, LoggedTransfer.KEY.all(network=network, partition=partition))
        found += [entry for entry in entries if first <= entry.block_number <= last]
    return found


def list_logged_again(store: Store, network: str, first: int, last: int) -> list[LoggedTransfer]:
    """The log's entries of the blocks from `first` to `last`, by one query, and one for each block that has entries."""
    return [
        entry
        for number in list_logged_blocks(store, network, first, last)
        for entry in list_logged(store, network, number, number)
    ]


def list_logged_blocks(store: Store, network: str, first: int, last: int, limit: int | None = None) -> list[int]:
    """The blocks from `first` to `last` of which the log has entries, or the first `limit` of them. One query."""
    keys = LoggedBlock.KEY.all(network=network)
    blocks = store.query(LoggedBlock, keys._replace(first=f"{first:012}", last=f"{last:012}"), limit)
    return [each.block_number for each in blocks]


def find_deferred(store: Store, network: str, places: Iterable[tuple[int, str]]) -> set[tuple[int, str]]:
    """The transactions at these places (block and hash) that are deferred; read in batches of 100."""
    of = DeferredTransaction.KEY.of
    keys = (of(network=network, block_number=number, tx_hash=tx_hash) for number, tx_hash in places)
    found = store.get_many(dict.fromkeys(keys, DeferredTransaction))
    return {(each.block_number, each.tx_hash) for each in found.values()}


def list_deferred(store: Store, network: str, place: str, limit: int) -> tuple[DeferredTransaction, ...]:
    """The first deferred transactions behind a place, at most `limit`. One query."""
    keys = DeferredTransaction.KEY.all(network=network)
    return store.query(DeferredTransaction, keys._replace(first=place + FIRST_SORT_KEY), limit)


def list_unrecorded(store: Store, payable_id: str, limit: int) -> tuple[UnrecordedTransfers, ...]:
    """The first work of a payable, at most `limit` parts, those that wait for a rate last. One query."""
    return store.query(UnrecordedTransfers, UnrecordedTransfers.KEY.all(payable_id=payable_id), limit)


def waiting_for_rates(store: Store, payable_id: str, limit: int, start: str) -> Iterator[UnrecordedTransfers]:
    """The work of a payable that waits for rates, each part once, from a place on, then from the first to that place.

    `start` are up to four hexadecimal digits. One query for each `limit` parts.
    """
    keys, middle = UnrecordedTransfers.KEY.all(payable_id=payable_id), WAITING + start
    for first, last in ((middle, keys.last), (WAITING, middle)):
        while found := store.query(UnrecordedTransfers, keys._replace(first=first, last=last), limit):
            yield from found
            first = found[-1].key.sk + FIRST_SORT_KEY


def has_work(store: Store, payable_ids: Iterable[str]) -> bool:
    """Whether the recorder has work left for one of these payables. One query per payable, until one has work."""
    return any(list_unrecorded(store, payable_id, 1) for payable_id in payable_ids)


def is_unrecorded(store: Store, part: UnrecordedTransfers) -> bool:
    """Whether this work is still to be done as it was read. One read."""
    found = store.get(UnrecordedTransfers, part.key)
    return found is not None and found.version == part.version


def payables_with_work(store: Store, before: datetime, limit: int, first_shard: int) -> dict[str, str]:
    """The payables that have had work since before `before`, from at most `limit` parts per shard: accounts by id."""
    payables = dict[str, str]()
    for key in store.due(UnrecordedTransfers, before, limit, first_shard):
        payables.setdefault(key.pk.partition("#")[2], key.sk.partition(OWNED_BY)[2])
    return payables
