"""Lists the deliveries of a webhook, and sends them again."""

from datetime import datetime

from chalicelib.base.errors import NotFound
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.circuits.records import CircuitState
from chalicelib.webhooks.deliveries import store
from chalicelib.webhooks.deliveries.flows import queue_now
from chalicelib.webhooks.deliveries.records import Delivery, DeliveryState, Listing
from chalicelib.webhooks.deliveries.rules import check_may_repeat, delivery_id_of, first_id_since, repeat
from chalicelib.webhooks.endpoints import store as endpoint_store
from chalicelib.webhooks.endpoints.records import Endpoint

MOST_REPEATED = 100
"""The number of deliveries that one call sends again."""
_STATES = {Listing.FAILED: DeliveryState.FAILED, Listing.WAITING: DeliveryState.WAITING}


def page(
    services: Services, endpoint: Endpoint, listing: Listing, cursor: str | None, limit: int
) -> tuple[tuple[Delivery, ...], str | None]:
    """Up to `limit` deliveries of a webhook after the cursor, newest first, and the cursor of the next page, if any."""
    found, following = store.newest(services.store, endpoint.webhook_id, listing, cursor, limit)
    return tuple(each for each in found if _STATES.get(listing, each.state) is each.state), following


def of_event(services: Services, account_id: str, event_id: str) -> list[tuple[Delivery, Endpoint]]:
    """The deliveries of an event to the webhooks of its owners, and of its variants, each with its webhook.

    Two reads and two queries at most.
    Raises NotFound if the account has no such event.
    """
    event = event_store.event(services.store, event_id)
    if event is None or event.account_id != account_id or event.vanishes_at <= services.clock():
        raise NotFound("Event not found")
    owners = dict.fromkeys((None, event.client_id))
    webhooks = [each for owner in owners for each in endpoint_store.endpoints(services.store, account_id, owner)]
    ids = [delivery_id_of(event, number, each) for number in range(1 + len(event.variants)) for each in webhooks]
    by_id = {each.webhook_id: each for each in webhooks}
    return [(each, by_id[each.webhook_id]) for each in store.existing(services.store, ids)]


def repeat_one(services: Services, endpoint: Endpoint, delivery_id: str) -> Delivery:
    """Queues a delivery that ended or waits, from its first attempt on. The probe of an open circuit is due at once.

    Raises NotFound if the webhook has no such delivery, Conflict if it is in progress or the webhook is switched off.
    """
    delivery = store.find_delivery(services.store, delivery_id)
    now = services.clock()
    if delivery is None or delivery.webhook_id != endpoint.webhook_id or delivery.vanishes_at <= now:
        raise NotFound("Delivery not found")
    check_may_repeat(delivery, endpoint)
    repeated = store.write_change(services.store, delivery, repeat(delivery, now))
    _probe_now(services, endpoint)
    queue_now(services, [repeated])
    return repeated


def repeat_failed(
    services: Services, endpoint: Endpoint, since: datetime, cursor: str | None
) -> tuple[int, str | None]:
    """Queues failed deliveries whose event happened at `since` or later, oldest first, MOST_REPEATED at most.

    Returns how many, and the cursor with which to continue, if there are more. Raises Conflict if the webhook is
    switched off.
    """
    now = services.clock()
    after = max(cursor or "", first_id_since(since, now))
    found, following = store.oldest(services.store, endpoint.webhook_id, Listing.FAILED, after, MOST_REPEATED)
    failed = [each for each in found if each.state is DeliveryState.FAILED]
    for each in failed[:1]:
        check_may_repeat(each, endpoint)
    repeated = store.change_all(services.store, [(each, repeat(each, now)) for each in failed])
    if repeated:
        _probe_now(services, endpoint)
        queue_now(services, repeated)
    return len(repeated), following


def _probe_now(services: Services, endpoint: Endpoint) -> None:
    circuit = event_store.circuit(services.store, endpoint.webhook_id)
    if circuit is not None and circuit.state is CircuitState.OPEN:
        # False: a probe has just begun or ended
        try_write(services.store, circuit_rules.probe_now(circuit, services.clock()))
