"""The schedule that queues what is due of recurring payouts and requests, and the queue's consumer."""

import json

from chalicelib.platform.services import Services
from chalicelib.recurring import running


def run_recurring(services: Services) -> None:
    due = running.start_due(services)
    if due:
        services.log.info("recurring queued", extra={"count": due})


def execute_recurring(services: Services, body: str) -> None:
    """One step of the recurring payouts or requests that a message names."""
    message = json.loads(body)
    if "requests" in message:
        created = running.repeat_requests(services, message["requests"])
        services.log.info("requests repeated", extra={"count": created})
    else:
        submitted = running.run_payments(services, message["network"], message["recurring"])
        services.log.info("recurring payments submitted", extra={"count": submitted, "network": message["network"]})
