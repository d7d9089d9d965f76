"""Reads of off-ramp orders. Those of one request come with its payable (payments/links/store.py)."""

from collections.abc import Iterator
from datetime import datetime

from chalicelib.offramp.core.records import Order
from chalicelib.platform.storage.store import Store


def order(store: Store, request_id: str) -> Order | None:
    """The order of a request; None if there is none. One read."""
    return store.get(Order, Order.KEY.of(request_id=request_id))


def due(store: Store, before: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """The requests whose orders are due for a check, at most `limit` per shard. One query per shard."""
    return (key.pk.partition("#")[2] for key in store.due(Order, before, limit, first_shard))
