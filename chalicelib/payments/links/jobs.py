"""The schedule that marks links as expired."""

from chalicelib.payments.links import expiry as flows
from chalicelib.platform.services import Services


def expire_links(services: Services) -> None:
    expired = flows.expire_due(services)
    if expired:
        services.log.info("links expired", extra={"count": expired})
