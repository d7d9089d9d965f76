"""The outbox sweep: announces events and queues deliveries whose message was not sent because of a crash."""

from datetime import timedelta

from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks import store
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.store import Overdue

GRACE = timedelta(seconds=30)
"""Younger records may still be in progress in the process that wrote them."""
_BATCH = 100


def sweep(services: Services) -> int:
    """Announces overdue events and queues overdue deliveries; returns how many. Safe to repeat."""

    def finish(entry: Overdue) -> bool:
        act = webhooks.announce_by_id if entry.kind is Event else webhooks.requeue
        return act(services, entry.record_id)

    return sweeping.each(services.log, store.overdue(services.store, services.clock() - GRACE, _BATCH), finish)
