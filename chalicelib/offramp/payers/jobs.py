"""The schedule that checks payers and bank accounts."""

from chalicelib.offramp.payers import checking
from chalicelib.platform.services import Services


def check_payers(services: Services) -> None:
    """Reads at the provider what is open there."""
    checked = checking.check_due(services)
    if checked:
        services.log.info("payers checked", extra={"count": checked})
