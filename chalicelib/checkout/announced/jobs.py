"""The schedule that checks the pending announced transactions."""

from chalicelib.checkout.announced import tracking as flows
from chalicelib.platform.services import Services


def track_announced(services: Services) -> None:
    ended = flows.track_due(services)
    if ended:
        services.log.info("announced transactions ended", extra={"count": ended})
