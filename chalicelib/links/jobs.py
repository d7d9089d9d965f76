"""Schedule: writes down which links have expired."""

from chalicelib.flows import links
from chalicelib.services import Services


def run(services: Services) -> None:
    expired = links.expire_due(services)
    if expired:
        services.log.info("links expired", extra={"count": expired})
