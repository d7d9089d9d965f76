"""The queue consumer that attempts deliveries, and the schedule that sweeps the outbox."""

import json

from chalicelib.services import Services
from chalicelib.webhooks import flows, outbox


def deliver_webhook(services: Services, body: str) -> None:
    """Makes one attempt of one delivery per message."""
    message = json.loads(body)
    flows.deliver(services, message["deliveryId"], message["attempt"])


def sweep_outbox(services: Services) -> None:
    """Announces events and queues deliveries whose message was not sent because of a crash."""
    swept = outbox.sweep(services)
    if swept:
        services.log.warning("outbox swept", extra={"count": swept})
