"""The schedule that makes the payments that payers have signed."""

from chalicelib.checkout.permits import running
from chalicelib.services import Services


def run_permits(services: Services) -> None:
    looked_at = running.run_due(services)
    if looked_at:
        services.log.info("payment intents looked at", extra={"count": looked_at})
