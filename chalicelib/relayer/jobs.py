"""The schedule that has the account of each network checked, and the queue consumer that checks one."""

import json

from chalicelib.base.errors import ChainUnavailable
from chalicelib.platform.own_accounts import store as own_accounts
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer import tracking
from chalicelib.relayer.flows import HINT_SECONDS


def track_relayed(services: Services) -> None:
    """Queues a check of the accounts of each network that has a node. One read."""
    former = [each.network for each in own_accounts.senders(services.store).accounts]
    wanted = dict.fromkeys([*services.settings.relayer_keys, *former])
    networks = [name for name in wanted if name in services.chains.networks]
    services.queue.send(services.settings.queue("relayed"), [Message({"network": name}, name) for name in networks])


def follow_relayed(services: Services, body: str) -> None:
    """Checks the accounts of one network, and again soon while transactions are open. A node that does not answer is
    only logged: the schedule has the accounts checked again."""
    network = json.loads(body)["network"]
    try:
        is_open = tracking.track(services, network)
    except ChainUnavailable as error:
        services.log.error("account not checked", extra={"network": network, "reason": error.reason or error.message})
    except WriteConflict:
        services.log.info("another check was faster", extra={"network": network})
    else:
        if is_open:
            hint = Message({"network": network}, network, HINT_SECONDS)
            send_hints(services.queue, services.log, services.settings.queue("relayed"), [hint], continues=True)
