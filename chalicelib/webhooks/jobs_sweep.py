"""Schedule: finishes what a crash left between a commit and its message."""

from chalicelib.flows import outbox
from chalicelib.services import Services


def run(services: Services) -> None:
    swept = outbox.sweep(services)
    if swept:
        services.log.warning("outbox swept", extra={"count": swept})
