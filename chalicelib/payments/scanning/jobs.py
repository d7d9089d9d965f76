"""The queue consumer that scans one network, and the schedule that queues its ticks and measures its lag."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.payments.scanning import flows, rules, store
from chalicelib.payments.scanning.checks import nodes
from chalicelib.payments.scanning.evidence import count_unproved
from chalicelib.platform.metrics import LAG
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message
from chalicelib.platform.storage.store import Throttled, WriteConflict

_MINUTE = 60


def scan_chain(services: Services, body: str) -> None:
    """Runs one tick of one network per message. An unavailable node is only logged: a tick follows in seconds.

    After the one that compares the nodes, what has arrived at addresses is noted. A tick that waited too long in the
    queue is dropped.
    """
    message = json.loads(body)
    name, due_at = message["network"], message.get("dueAt")
    if due_at is not None and rules.is_outdated(datetime.fromisoformat(due_at), services.clock()):
        services.log.warning("scan dropped", extra={"network": name, "due_at": due_at})
        return
    try:
        found = flows.scan(services, name, message.get("compareNodes", False))
    except NodesDisagree as error:
        nodes.hold(services, name, error)
    except InconsistentNode as error:
        services.log.error("node contradicts itself", extra={"network": name, "reason": error.reason})
    except ChainUnavailable as error:
        services.log.error("scan failed", extra={"network": name, "reason": error.reason or error.message})
    except Throttled:
        services.log.warning("transfer log throttled", extra={"network": name})
    except WriteConflict:
        services.log.info("another scan was faster", extra={"network": name})
    else:
        if found:
            services.log.info("transfers found", extra={"network": name, "count": found})
    if message.get("compareNodes"):
        from chalicelib.payments.scanning.arrivals import note_arrivals  # one tick a minute needs it

        note_arrivals(services, name)


def start_scans(services: Services) -> None:
    """Queues one minute of ticks for every network that has a node, as messages with growing delays; measures lags.

    The first of them compares the nodes of its network, if it has several.
    """
    scanned = [name for name in services.chains.networks if find_network(name) is not None]
    now = services.clock()
    messages = [
        Message(
            {"network": name, "dueAt": iso(now + timedelta(seconds=delay)), "compareNodes": delay == 0}, name, delay
        )
        for name in scanned
        for delay in range(0, _MINUTE, services.settings.scan_interval(name))
    ]
    services.queue.send(services.settings.queue("scans"), messages)
    _measure(services, scanned)


def _measure(services: Services, networks: Iterable[str]) -> None:
    """Measures how old the newest block is that was read of each network, and logs which has transfers that rest on one
    node or are held, which waits for another node to decide anything, and which has had unproved blocks for long,
    unless the operator accepts that. One read.

    It is measured here, not by the ticks: so the lag also grows if no tick ends, and one value per minute and network
    is as many as the metric has periods.
    """
    for name, cursor in store.cursors(services.store, networks).items():
        lag = rules.lag(cursor, services.clock())
        if lag is not None:
            services.metrics.add(LAG, name, round(lag.total_seconds()))
        if cursor.alone is not None:
            facts = {"network": name, "first": cursor.alone.first, "last": cursor.alone.last}
            services.log.warning("transfers rest on one node", extra=facts)
        if rules.waits_for_node(cursor, timedelta(seconds=services.settings.silent_nodes_seconds)):
            services.log.error("decisions wait for another node", extra={"network": name})
        if cursor.deferred_from is not None:
            services.log.warning("transactions deferred", extra={"network": name})
        if rules.is_unproved_long(cursor, services.clock()) and name not in services.settings.unproved_accepted:
            count, since = count_unproved(cursor.weak)
            facts = {"network": name, "count": count, "since": since and iso(since)}
            services.log.warning("blocks unproved for an hour", extra=facts)
