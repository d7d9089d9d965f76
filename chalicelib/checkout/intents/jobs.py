"""The schedule that follows the multisig transactions that links wait for."""

from chalicelib.checkout.intents import flows
from chalicelib.services import Services


def track_intents(services: Services) -> None:
    ended = flows.track_due(services)
    if ended:
        services.log.info("multisig intents ended", extra={"count": ended})
