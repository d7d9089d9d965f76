"""The queue consumer that records the transfers of one payable, and the schedule that sweeps what was not recorded."""

import json

from chalicelib.payments.recording import flows, reconciliation
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping


def record_transfers(services: Services, body: str) -> None:
    """Records the work of up to ten payables of one account per message; compares their totals, too, if the message
    asks for it."""
    message = json.loads(body)
    account_id, payable_ids = message["account"], message["bills"]
    recorded = flows.record_each(services, account_id, payable_ids)
    if recorded:
        services.log.info("payments recorded", extra={"account_id": account_id, "count": recorded})
    if message.get("reconcile"):
        sweeping.each(services.log, payable_ids, lambda each: bool(reconciliation.reconcile(services, each)))


def sweep_transfers(services: Services) -> None:
    """Queues the payables whose message was not sent, or whose recording failed."""
    swept = flows.queue_overdue(services)
    if swept:
        services.log.warning("transfers swept", extra={"payables": swept})
