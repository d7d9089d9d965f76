"""The schedule that has the account of each network checked, and the queue consumer that checks one."""

import json

from chalicelib.base.errors import ChainUnavailable
from chalicelib.relayer import tracking
from chalicelib.relayer.flows import HINT_SECONDS
from chalicelib.services import Services
from chalicelib.storage.queue import Message, send_hints
from chalicelib.storage.store import WriteConflict


def track_relayed(services: Services) -> None:
    """Queues a check of the account of each network that has a node."""
    networks = [name for name in services.settings.relayer_keys if name in services.chains.networks]
    services.queue.send(services.settings.relayed_queue, [Message({"network": name}, name) for name in networks])


def follow_relayed(services: Services, body: str) -> None:
    """Checks the account of one network, and again soon while transactions are open. A node that does not answer is
    only logged: the schedule has the account checked again."""
    network = json.loads(body)["network"]
    if network not in services.settings.relayer_keys:
        return  # the key was taken out of the settings while the message waited
    try:
        is_open = tracking.track(services, network)
    except ChainUnavailable as error:
        services.log.error("account not checked", extra={"network": network, "reason": error.reason or error.message})
    except WriteConflict:
        services.log.info("another check was faster", extra={"network": network})
    else:
        if is_open:
            hint = Message({"network": network}, network, HINT_SECONDS)
            send_hints(services.queue, services.log, services.settings.relayed_queue, [hint])
