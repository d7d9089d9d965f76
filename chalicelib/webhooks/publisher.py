"""Publishes events: writes one delivery of each for every webhook that receives it, and queues the first attempts.

The sweep queues events, deliveries and circuits whose message was not sent or not finished.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile

from chalicelib.platform.metrics import OUTBOX_AGE
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.webhooks import store
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.flows import queue_now
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.deliveries.rules import deliveries_of
from chalicelib.webhooks.endpoints import store as endpoint_store
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.flows import queue_publishing
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.store import Overdue

Receivers = Callable[[Event], tuple[Endpoint, ...]]
_TRIES = 3
GRACE = timedelta(seconds=30)
"""Younger records may still be in progress in the process that wrote them."""
BUDGET = timedelta(seconds=40)
"""The sweep begins no record later than this; its function has 60 s, and the next one runs a minute after it."""
_BATCH = 100


def publish_events(services: Services, event_ids: Sequence[str]) -> None:
    """Publishes the events that are not published yet.

    One read, one query per owner of webhooks, and for each event one transaction per CHUNK of deliveries. The e-mails
    about it, if there are any, are written first.

    Safe to repeat: the ids of deliveries are derived from event and webhook, one that exists is not written again, and
    the event counts as published only after all of them are written. If the process dies before the first attempts are
    queued, the sweep finds the deliveries due. An event that fails keeps no other back: SweepIncomplete is raised after
    the last one, so that the queue repeats the message.
    """
    receivers, mail = _receivers(services), _mailing(services)
    events = {event.event_id: event for event in store.events(services.store, event_ids)}

    def act(event_id: str) -> bool:  # of an event that fails, the log has the id and not the body
        event = events[event_id]
        if not event.published:
            mail(event)
        return _publish(services, event, receivers)

    sweeping.each(services.log, events, act)


def _publish(services: Services, event: Event, receivers: Receivers) -> bool:
    """Returns False if another process published the event."""
    deliveries = deliveries_of(event, receivers(event), services.clock())
    last = len(deliveries) - len(deliveries) % delivery_store.CHUNK  # most events have one chunk, the last one
    delivery_store.change_all(services.store, [(None, each) for each in deliveries[:last]])
    with_event: Sequence[Delivery] = deliveries[last:]
    current: Event | None = event
    for _ in range(_TRIES):
        if current is None or current.published:
            return False
        if try_write(services.store, replace(current, published=True), *delivery_store.creation(with_event)):
            queue_now(services, deliveries)
            return True
        # A sweep has changed the event, or deliveries were written by a process that died.
        delivery_store.change_all(services.store, [(None, each) for each in with_event])
        with_event, current = (), store.event(services.store, event.event_id)
    raise WriteConflict


def _mailing(services: Services) -> Callable[[Event], None]:
    """What writes the e-mails about an event; nothing without a sender."""
    if not services.settings.mail_sender:
        return lambda event: None
    from chalicelib.webhooks.mailing import mailing  # a worker without a sender does not load it

    return mailing(services)


def _receivers(services: Services) -> Receivers:
    """The webhooks that receive an event, each owner's read once."""
    known: dict[tuple[str, str | None], tuple[Endpoint, ...]] = {}

    def of_owner(account_id: str, client_id: str | None) -> tuple[Endpoint, ...]:
        if (account_id, client_id) not in known:
            known[account_id, client_id] = endpoint_store.endpoints(services.store, account_id, client_id)
        return known[account_id, client_id]

    def of_event(event: Event) -> tuple[Endpoint, ...]:
        of_client = of_owner(event.account_id, event.client_id) if event.client_id is not None else ()
        return (*of_owner(event.account_id, None), *of_client)

    return of_event


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
    circuit = store.circuit(services.store, webhook_id)
    if circuit is None or circuit.due_at is None or services.clock() < circuit.due_at:
        return False
    deliveries.queue_tending(services, circuit)
    return True
