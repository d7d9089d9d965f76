"""The queue consumer that scans one network, and the schedule that queues its ticks."""

import json
from datetime import datetime, timedelta

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.timestamps import iso
from chalicelib.catalogue.networks import network
from chalicelib.chain.logs import InconsistentNode
from chalicelib.scanning import flows, rules
from chalicelib.services import Services
from chalicelib.storage.queue import Message
from chalicelib.storage.store import WriteConflict

_MINUTE = 60


def scan_chain(services: Services, body: str) -> None:
    """Runs one tick of one network per message. An unavailable node is only logged: a tick follows in seconds.

    A tick that waited too long in the queue is dropped.
    """
    message = json.loads(body)
    name, due_at = message["network"], message.get("dueAt")
    if due_at is not None and rules.is_outdated(datetime.fromisoformat(due_at), services.clock()):
        services.log.warning("scan dropped", extra={"network": name, "due_at": due_at})
        return
    try:
        found = flows.scan(services, name)
    except InconsistentNode as error:
        services.log.error("node contradicts itself", extra={"network": name, "reason": error.reason})
    except ChainUnavailable as error:
        services.log.error("scan failed", extra={"network": name, "reason": error.message})
    except WriteConflict:
        services.log.info("another scan was faster", extra={"network": name})
    else:
        if found:
            services.log.info("transfers found", extra={"network": name, "count": found})


def start_scans(services: Services) -> None:
    """Queues one minute of ticks for every network that has a node, as messages with growing delays."""
    delays = range(0, _MINUTE, services.settings.scan_interval_seconds)
    scanned = [name for name in services.chains.networks if network(name) is not None]
    now = services.clock()
    messages = [
        Message({"network": name, "dueAt": iso(now + timedelta(seconds=delay))}, name, delay)
        for name in scanned
        for delay in delays
    ]
    services.queue.send(services.settings.scans_queue, messages)
