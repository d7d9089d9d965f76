"""Reads of commerce payments, and of the events of the escrow about them."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from chalicelib.commerce.core.records import CommercePayment, EscrowEntry
from chalicelib.platform.storage.store import Store

MOST_ENTRIES = 100


def payment(store: Store, payable_id: str) -> CommercePayment | None:
    """The commerce payment of a link. One read."""
    return store.get(CommercePayment, CommercePayment.KEY.of(payable_id=payable_id))


def payments(store: Store, payable_ids: Iterable[str]) -> tuple[CommercePayment, ...]:
    """The commerce payments of links that have one, in the order of the links. One read of up to 100."""
    keys = [CommercePayment.KEY.of(payable_id=each) for each in payable_ids]
    found = store.get_many(dict.fromkeys(keys, CommercePayment))
    return tuple(found[key] for key in keys if key in found)


def entries(store: Store, request_id: str) -> tuple[EscrowEntry, ...]:
    """The last events of the escrow about a payment, at most 100, the oldest first. One query."""
    partition = EscrowEntry.KEY.partition(request_id=request_id)
    found, _ = store.page(EscrowEntry, partition, None, MOST_ENTRIES, consistent=True)
    return found[::-1]


def due(store: Store, now: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """The links whose commerce payments are due, at most `limit` of each shard of the index. One query for each."""
    return (key.pk.partition("#")[2] for key in store.due(CommercePayment, now, limit, first_shard))
