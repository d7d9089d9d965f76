"""The schedule that checks paid off-ramp orders."""

from chalicelib.offramp.service import checking
from chalicelib.platform.services import Services


def check_offramps(services: Services) -> None:
    """Reads at the provider what has had no news for long."""
    checked = checking.check_due(services)
    if checked:
        services.log.info("off-ramp orders checked", extra={"count": checked})
