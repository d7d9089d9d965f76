"""The queue consumer that records the transfers of one link, and the schedule that sweeps what was not recorded."""

import json

from chalicelib.recording import flows, reconciliation
from chalicelib.services import Services


def record_transfers(services: Services, body: str) -> None:
    """Records the work of one link per message; compares its totals, too, if the message asks for it."""
    message = json.loads(body)
    token = message["link"]
    recorded = flows.record(services, token)
    if recorded:
        services.log.info("payments recorded", extra={"link": token, "count": recorded})
    if message.get("reconcile"):
        reconciliation.reconcile(services, token)


def sweep_transfers(services: Services) -> None:
    """Queues the links whose message was not sent, or whose recording failed."""
    swept = flows.sweep(services)
    if swept:
        services.log.warning("transfers swept", extra={"links": swept})
