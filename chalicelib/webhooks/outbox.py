"""The outbox sweep: queues events, deliveries and circuits whose message was not sent or not finished."""

from dataclasses import replace
from datetime import timedelta
from itertools import takewhile

from chalicelib.platform.metrics import OUTBOX_AGE
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write
from chalicelib.webhooks import store
from chalicelib.webhooks.circuits import store as circuit_store
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.flows import queue_publishing
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.store import Overdue

GRACE = timedelta(seconds=30)
"""Younger records may still be in progress in the process that wrote them."""
BUDGET = timedelta(seconds=40)
"""The sweep begins no record later than this; its function has 60 s, and the next one runs a minute after it."""
_BATCH = 100


def sweep(services: Services) -> int:
    """Queues what is overdue; returns how much. Begins at a random shard, so none is always last. Safe to repeat.

    Measures the age of the oldest event that it found waiting, 0 if none.
    """
    now, found = services.clock(), list[Event]()

    def finish(entry: Overdue) -> bool:
        if entry.kind == store.EVENT:
            event = _touch(services, entry.record_id)
            found.extend([event] if event else [])
            return event is not None
        if entry.kind == store.CIRCUIT:
            return _tend(services, entry.record_id)
        return deliveries.requeue(services, entry.record_id)

    due = store.overdue(services.store, now - GRACE, _BATCH, services.entropy(1)[0])
    in_time = takewhile(lambda _: services.clock() < now + BUDGET, due)
    try:
        return sweeping.each(services.log, in_time, finish)
    finally:
        ages = (now - event.created_at for event in found)
        services.metrics.add(OUTBOX_AGE, value=max(ages, default=timedelta()).total_seconds())
        queue_publishing(services, found)


def _touch(services: Services, event_id: str) -> Event | None:
    """The event as queued now, so that one that fails again and again comes after the others; None if published."""
    event = store.event(services.store, event_id)
    if event is None or event.published:
        return None
    touched = replace(event, queued_at=services.clock())
    return touched if try_write(services.store, touched) else None  # it is being published


def _tend(services: Services, webhook_id: str) -> bool:
    circuit = circuit_store.circuit(services.store, webhook_id)
    if circuit is None or circuit.due_at is None or services.clock() < circuit.due_at:
        return False
    deliveries.queue_tending(services, circuit)
    return True
