"""Schedule: plans a minute of ticks for every network with a node, as messages with growing delays."""

from chalicelib.aws.queue import Message
from chalicelib.core.networks import network
from chalicelib.services import Services

_MINUTE = 60


def run(services: Services) -> None:
    delays = range(0, _MINUTE, services.settings.scan_interval_seconds)
    scanned = [name for name in services.chains.networks if network(name) is not None]
    messages = [Message({"network": name}, name, delay) for name in scanned for delay in delays]
    services.queue.send(services.settings.scans_queue, messages)
