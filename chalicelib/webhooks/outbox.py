"""The outbox sweep: what a crash left undone between a commit and its message is done now."""

from datetime import timedelta

from chalicelib.base.records import WEBHOOKS, Key
from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.webhooks import flows as webhooks

GRACE = timedelta(seconds=30)
"""Younger entries are still in the hands of whoever wrote them."""
_BATCH = 100


def sweep(services: Services) -> int:
    """Announces events and queues deliveries that are overdue; returns how many. Doing one twice is harmless."""

    def finish(key: Key) -> bool:
        kind, _, record_id = key.pk.partition("#")
        return (webhooks.announce_by_id if kind == "EVENT" else webhooks.requeue)(services, record_id)

    return sweeping.each(services, services.store.due(WEBHOOKS, services.clock() - GRACE, _BATCH), finish)
