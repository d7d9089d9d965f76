"""The sweep over paid off-ramp orders: reads at the provider what has no news, and logs what is late.

Events of the provider tell of every change. This makes good those that were lost, and finds orders that are stuck.
"""

from datetime import timedelta
from itertools import takewhile

from chalicelib.links import store as link_store
from chalicelib.offramp import store
from chalicelib.offramp.flows import commit, first_check, take
from chalicelib.offramp.orders import is_of
from chalicelib.outbound.compliance import ProviderUnavailable
from chalicelib.requests.offramps.records import Order
from chalicelib.requests.offramps.rules import Advance, checked, is_late
from chalicelib.services import Services
from chalicelib.storage import sweeping

BUDGET = timedelta(seconds=40)
"""The sweep begins no order later than this; its function has 60 s."""
_DUE_PER_SHARD = 100


def check_due(services: Services) -> int:
    """Checks the orders that are due; returns how many. Begins at a random shard.

    It ends when the provider does not answer: the order that was asked for is later by then, so that the next run
    begins with another one. Raises SweepIncomplete if an order failed in another way.
    """
    if not services.compliance.is_configured:
        return 0
    deadline, unavailable = services.clock() + BUDGET, list[ProviderUnavailable]()

    def check(request_id: str) -> bool:
        try:
            return _check(services, request_id)
        except ProviderUnavailable as error:
            services.log.error("provider does not answer", extra={"reason": error.logged})
            unavailable.append(error)
            return False

    due = store.due(services.store, services.clock(), _DUE_PER_SHARD, services.entropy(1)[0])
    in_time = takewhile(lambda _: services.clock() < deadline and not unavailable, due)
    return sweeping.each(services.log, in_time, check)


def _check(services: Services, request_id: str) -> bool:
    """Returns False if there is nothing to do any more. The next check is written first: one that fails is later.

    Raises ProviderUnavailable.
    """
    bill, now = link_store.bill(services.store, request_id), services.clock()
    order = bill.order if bill else None
    if bill is None or order is None or order.next_due is None or order.next_due > now:
        return False
    postponed = commit(services, bill, order, Advance(checked(order, now, first_check(services))))
    if postponed is None:
        return False  # something was recorded or reported meanwhile
    if order.paid_at is not None:
        _read(services, order)
    return True


def _read(services: Services, order: Order) -> None:
    """Takes what the provider says of an order now, and logs what an operator has to ask the provider about."""
    facts = {"bill": order.request_id, "provider_id": order.provider_id}
    found = services.compliance.order(order.order_id)
    if found is None or not is_of(order, found):
        services.log.error("off-ramp order is not known to the provider", extra=facts)
        return
    now_known = take(services, found)
    if is_late(now_known, services.clock(), timedelta(seconds=services.settings.offramp_late_seconds)):
        services.log.error("off-ramp order is late", extra={**facts, "status": now_known.provider_status})
