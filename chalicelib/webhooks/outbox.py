"""The outbox sweep: what a crash left undone between a commit and its message is done now."""

from datetime import timedelta

from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks import store
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.store import Overdue

GRACE = timedelta(seconds=30)
"""Entries younger than this are still being dealt with by the process that wrote them."""
_BATCH = 100


def sweep(services: Services) -> int:
    """Announces events and queues deliveries that are overdue; returns how many. Doing one twice is harmless."""

    def finish(entry: Overdue) -> bool:
        act = webhooks.announce_by_id if entry.kind is Event else webhooks.requeue
        return act(services, entry.record_id)

    return sweeping.each(services.log, store.overdue(services.store, services.clock() - GRACE, _BATCH), finish)
