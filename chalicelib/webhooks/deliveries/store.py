"""Reads of deliveries by id and by list, and transactions of deliveries together with their entries in lists."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import merge
from itertools import islice

from chalicelib.platform.storage.store import (
    LARGEST_TRANSACTION,
    Delete,
    Store,
    Write,
    WriteConflict,
    with_next_version,
)
from chalicelib.webhooks.circuits.records import Circuit
from chalicelib.webhooks.deliveries.records import LIST_SHARDS, Delivery, ListEntry, Listing
from chalicelib.webhooks.endpoints.records import Endpoint

Change = tuple[Delivery | None, Delivery]
"""A delivery as it is stored (None: not yet), and as it is to be written."""
WRITES_PER_CHANGE = 3
"""The most items of a change: the delivery, its entry in the list of all, and one that comes or goes."""
CHUNK = LARGEST_TRANSACTION // WRITES_PER_CHANGE
"""The number of changes that always fit a transaction."""


def find_delivery(store: Store, delivery_id: str) -> Delivery | None:
    """One read."""
    return store.get(Delivery, Delivery.KEY.of(delivery_id=delivery_id))


def endpoint_and_circuit(store: Store, delivery: Delivery) -> tuple[Endpoint | None, Circuit | None]:
    """The webhook of a delivery (None if it was deleted) and its circuit (None if it never failed). One read."""
    owner = delivery.client_id or delivery.account_id
    endpoint = Endpoint.KEY.of(owner=owner, webhook_id=delivery.webhook_id)
    circuit = Circuit.KEY.of(webhook_id=delivery.webhook_id)
    found = store.get_many({endpoint: Endpoint, circuit: Circuit})
    return found.get(endpoint), found.get(circuit)


def newest(
    store: Store, webhook_id: str, listing: Listing, before: str | None, limit: int
) -> tuple[tuple[Delivery, ...], str | None]:
    """Up to `limit` deliveries of a list below the id `before`, newest first, and the next `before` if there are more.

    One query per shard and one read of the deliveries. A delivery may be newer than its entry: filter by its state.
    """
    pages = [store.page(ListEntry, pk, before, limit + 1)[0] for pk in _partitions(webhook_id, listing)]
    ids = [entry.delivery_id for page in pages for entry in page]
    ids.sort(reverse=True)
    return existing(store, ids[:limit]), ids[limit - 1] if len(ids) > limit else None


def oldest(
    store: Store, webhook_id: str, listing: Listing, after: str | None, limit: int
) -> tuple[tuple[Delivery, ...], str | None]:
    """Up to `limit` deliveries of a list above the id `after`, oldest first, and the next `after` if there are more."""
    heads = [store.head(ListEntry, pk, after, limit + 1) for pk in _partitions(webhook_id, listing)]
    ids = list(islice(merge(*([entry.delivery_id for entry in head] for head in heads)), limit + 1))
    return existing(store, ids[:limit]), ids[limit - 1] if len(ids) > limit else None


def existing(store: Store, ids: Sequence[str]) -> tuple[Delivery, ...]:
    """The deliveries with these ids that exist, in this order. One read per 100; none without ids."""
    keys = [Delivery.KEY.of(delivery_id=each) for each in ids]
    found = store.get_many(dict.fromkeys(keys, Delivery)) if keys else {}
    return tuple(found[key] for key in keys if key in found)


def write_change(store: Store, before: Delivery | None, after: Delivery) -> Delivery:
    """Writes a delivery, and the entries that it gets or loses, in one transaction. Returns it as it is stored.

    Raises WriteConflict if it was changed since it was read.
    """
    return store.write(after, *_entries(before, after))


def change_all(store: Store, changes: Sequence[Change]) -> tuple[Delivery, ...]:
    """Writes deliveries in as few transactions as they fit, but for those that were changed since they were read.

    Returns those written, as they are stored. Raises WriteConflict if a new one was not written by anybody.
    """
    stored: list[Delivery] = []
    for start in range(0, len(changes), CHUNK):
        chunk = changes[start : start + CHUNK]
        try:
            store.write(*(write for each in chunk for write in _writes(each)))
            stored += [with_next_version(after) for _, after in chunk]
        except WriteConflict:
            stored += _one_by_one(store, chunk)
    return tuple(stored)


def creation(deliveries: Iterable[Delivery]) -> tuple[Write, ...]:
    """What writes new deliveries, as a part of another transaction; at most CHUNK of them."""
    return tuple(write for each in deliveries for write in _writes((None, each)))


def _one_by_one(store: Store, changes: Sequence[Change]) -> list[Delivery]:
    stored: list[Delivery] = []
    for before, after in changes:
        try:
            stored.append(write_change(store, before, after))
        except WriteConflict:
            if before is None and find_delivery(store, after.delivery_id) is None:
                raise  # not written by anybody: the table was too busy
    return stored


def _writes(change: Change) -> tuple[Write, ...]:
    before, after = change
    return (after, *_entries(before, after))


def _entries(before: Delivery | None, after: Delivery) -> tuple[Write, ...]:
    """An entry exists exactly while its delivery is in a state that has it: its version is 1, or it is absent."""
    had, has = before.entries if before else (), after.entries
    gone = (Delete(replace(entry, version=1)) for entry in had if entry not in has)
    return (*(entry for entry in has if entry not in had), *gone)


def _partitions(webhook_id: str, listing: Listing) -> list[str]:
    shards = range(LIST_SHARDS)
    return [ListEntry.KEY.partition(webhook_id=webhook_id, listing=listing, shard=shard) for shard in shards]
