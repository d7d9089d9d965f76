"""Reads of events, and of what is due in the outbox."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.platform.storage.store import Store
from chalicelib.webhooks.circuits.records import Circuit
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.records import Event


@frozen
class Overdue:
    """The kind and id of an overdue record: an event, a delivery, or the circuit of a webhook."""

    kind: str
    record_id: str


EVENT, DELIVERY, CIRCUIT = Event.KEY.kind, Delivery.KEY.kind, Circuit.KEY.kind


def event(store: Store, event_id: str) -> Event | None:
    """One read."""
    return store.get(Event, Event.KEY.of(event_id=event_id))


def events(store: Store, event_ids: Sequence[str]) -> tuple[Event, ...]:
    """The events with these ids that exist, in this order. One read."""
    keys = [Event.KEY.of(event_id=each) for each in event_ids]
    found = store.get_many(dict.fromkeys(keys, Event))
    return tuple(found[key] for key in keys if key in found)


def overdue(store: Store, before: datetime, limit: int, first_shard: int) -> Iterator[Overdue]:
    """Records that were due before `before`, at most `limit` per shard. One query per shard."""
    for key in store.due(Event, before, limit, first_shard):  # all three kinds share table and shards
        _, _, record_id = key.pk.partition("#")
        yield Overdue(key.sk, record_id)


def circuits(store: Store, webhook_ids: Sequence[str]) -> dict[str, Circuit]:
    """The circuits of those of these webhooks that have failed, by the ids of the webhooks. One read per 100."""
    found = store.get_many({Circuit.KEY.of(webhook_id=each): Circuit for each in webhook_ids})
    return {each.webhook_id: each for each in found.values()}


def circuit(store: Store, webhook_id: str) -> Circuit | None:
    """The circuit of a webhook; None if it never failed. One read."""
    return store.get(Circuit, Circuit.KEY.of(webhook_id=webhook_id))
