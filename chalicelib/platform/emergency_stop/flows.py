"""Stops everything that hands out transactions to sign or that executes some, at once and without a deployment.

    refused    operations that say `moves_money` (platform/http/operation.py), refunds in lists of transfers
    held       new calls of the service's own account, and transactions that it has not signed or sent yet
    goes on    links, reads, detection of payments, webhooks, sign-in; outcomes of what was sent before; what can only
               take back a payer's own money or permission (reclaims of commerce payments, ends of recurring payouts)

What is held waits as it does for a node that does not answer: it counts as no attempt, and goes on by itself.
"""

from datetime import datetime, timedelta

from chalicelib.base.errors import ChainUnavailable
from chalicelib.platform.emergency_stop import store
from chalicelib.platform.emergency_stop.records import Stop
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete, Write

CACHED_FOR = timedelta(seconds=5)
"""How long a container relies on what it read."""


class PaymentsStopped(ChainUnavailable):
    """The operator has stopped payments. Nothing was changed."""

    retry_seconds = 60

    def __init__(self) -> None:
        super().__init__("Payments are stopped for the moment by the operator of the service: try again later")


def stopped_since(services: Services) -> datetime | None:
    """Since when payments are stopped; None if they are not. At most one read in CACHED_FOR in each container."""
    now = services.clock()
    known = services.stops.get(Stop.__name__)
    if known is None or not timedelta(0) <= now - known[0] < CACHED_FOR:
        found = store.current(services.store)
        known = services.stops[Stop.__name__] = (now, found.since if found else None)
    return known[1]


def refuse_while_stopped(services: Services) -> None:
    """Raises PaymentsStopped while payments are stopped."""
    if stopped_since(services) is not None:
        raise PaymentsStopped


def stop(services: Services, reason: str, *audit: Write) -> Stop:
    """Stops payments, or gives the stop that there is another reason; `audit` is written with it."""
    found = store.current(services.store)
    stopped = Stop(found.since if found else services.clock(), reason, version=found.version if found else 0)
    services.store.write(stopped, *audit)
    return stopped


def resume(services: Services, *audit: Write) -> Stop | None:
    """Ends the stop and returns it; None, and nothing is written, if there is none."""
    found = store.current(services.store)
    if found is not None:
        services.store.write(Delete(found), *audit)
    return found
