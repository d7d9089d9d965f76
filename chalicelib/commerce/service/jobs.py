"""The schedule that runs commerce payments."""

from chalicelib.commerce.service import running
from chalicelib.platform.services import Services


def run_commerce(services: Services) -> None:
    looked_at = running.run_due(services)
    if looked_at:
        services.log.info("commerce payments looked at", extra={"count": looked_at})
