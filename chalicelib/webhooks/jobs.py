"""The queue consumers that publish events and attempt deliveries, and the schedule that sweeps the outbox."""

import json

from chalicelib.platform.services import Services
from chalicelib.webhooks import publisher
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries import waiting


def publish_events(services: Services, body: str) -> None:
    """Announces up to ten events per message."""
    publisher.publish_events(services, json.loads(body)["eventIds"])


def deliver_webhook(services: Services, body: str) -> None:
    """Makes one first attempt of one delivery per message."""
    message = json.loads(body)
    deliveries.deliver(services, message["deliveryId"], message["attempt"], in_slow_lane=False)


def retry_webhook(services: Services, body: str) -> None:
    """Makes one attempt per message that may be slow (a retry, a test, a probe), or tends what waits for a webhook."""
    message = json.loads(body)
    if "webhookId" in message:
        waiting.tend(services, message["webhookId"])
    else:
        deliveries.deliver(services, message["deliveryId"], message["attempt"], in_slow_lane=True)


def sweep_outbox(services: Services) -> None:
    """Queues events and deliveries whose message was not sent because of a crash."""
    swept = publisher.sweep(services)
    if swept:
        services.log.warning("outbox swept", extra={"count": swept})
