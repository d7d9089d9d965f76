"""The queue consumer that attempts webhook deliveries, and the schedule that finishes what a crash left undone."""

import json

from chalicelib.services import Services
from chalicelib.webhooks import flows, outbox


def deliver_webhook(services: Services, body: str) -> None:
    """One attempt of one delivery a message."""
    message = json.loads(body)
    flows.deliver(services, message["deliveryId"], message["attempt"])


def sweep_outbox(services: Services) -> None:
    """Announces events and queues deliveries that a crash left between a commit and its message."""
    swept = outbox.sweep(services)
    if swept:
        services.log.warning("outbox swept", extra={"count": swept})
