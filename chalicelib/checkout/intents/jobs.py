"""Schedule: follows the multisig transactions that links wait for."""

from chalicelib.flows import intents
from chalicelib.services import Services


def run(services: Services) -> None:
    ended = intents.track_due(services)
    if ended:
        services.log.info("multisig intents ended", extra={"count": ended})
