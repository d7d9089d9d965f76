"""The queue consumer that records the transfers of one bill, and the schedule that sweeps what was not recorded."""

import json

from chalicelib.recording import flows, reconciliation
from chalicelib.services import Services


def record_transfers(services: Services, body: str) -> None:
    """Records the work of one bill per message; compares its totals, too, if the message asks for it.

    The message names the bill as `link`, as it did when only links had requests.
    """
    message = json.loads(body)
    bill_id = message["link"]
    recorded = flows.record(services, bill_id)
    if recorded:
        services.log.info("payments recorded", extra={"bill": bill_id, "count": recorded})
    if message.get("reconcile"):
        reconciliation.reconcile(services, bill_id)


def sweep_transfers(services: Services) -> None:
    """Queues the bills whose message was not sent, or whose recording failed."""
    swept = flows.sweep(services)
    if swept:
        services.log.warning("transfers swept", extra={"bills": swept})
