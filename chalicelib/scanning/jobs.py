"""The queue consumer that scans one network, and the schedule that queues its ticks."""

import json

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import network
from chalicelib.detection import flows
from chalicelib.services import Services
from chalicelib.storage.queue import Message
from chalicelib.storage.store import WriteConflict

_MINUTE = 60


def scan_chain(services: Services, body: str) -> None:
    """Runs one tick of one network per message. An unavailable node is only logged: a tick follows in seconds."""
    name = json.loads(body)["network"]
    try:
        recorded = flows.scan(services, name)
    except ChainUnavailable as error:
        services.log.error("scan failed", extra={"network": name, "reason": error.message})
    except WriteConflict:
        services.log.info("another scan was faster", extra={"network": name})
    else:
        if recorded:
            services.log.info("payments recorded", extra={"network": name, "count": recorded})


def start_scans(services: Services) -> None:
    """Queues one minute of ticks for every network that has a node, as messages with growing delays."""
    delays = range(0, _MINUTE, services.settings.scan_interval_seconds)
    scanned = [name for name in services.chains.networks if network(name) is not None]
    messages = [Message({"network": name}, name, delay) for name in scanned for delay in delays]
    services.queue.send(services.settings.scans_queue, messages)
