"""The sweep over paid off-ramp orders: reads at the provider what has no news, and logs what is late.

Events of the provider tell of every change. This makes good those that were lost, and finds orders that are stuck.
"""

from datetime import timedelta
from itertools import takewhile

from chalicelib.offramp.core import store as offramp_store
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import Advance, check_order, is_late, is_open, miss_order
from chalicelib.offramp.service.flows import commit, pace, take
from chalicelib.offramp.service.orders import amount_paid_out, is_for, is_of, new_order
from chalicelib.offramp.service.rules import is_converted, may_be_amended
from chalicelib.payments.links import store as link_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import Request
from chalicelib.platform.outbound.compliance import ProviderOrder, ProviderRefused, ProviderUnavailable
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.store import WriteConflict

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

    due = offramp_store.due(services.store, services.clock(), _DUE_PER_SHARD, services.entropy(1)[0])
    in_time = takewhile(lambda _: services.clock() < deadline and not unavailable, due)
    return sweeping.each(services.log, in_time, check)


def _check(services: Services, request_id: str) -> bool:
    """Returns False if there is nothing to do any more. The next check is written first: one that fails is later.

    Raises ProviderUnavailable.
    """
    payable, now = link_store.load_payable(services.store, request_id), services.clock()
    order = payable.order if payable else None
    if payable is None or order is None or order.next_due is None or order.next_due > now:
        return False
    try:
        postponed = commit(services, payable, order, check_order(order, now, pace(services)))
    except WriteConflict:
        return False  # something was recorded or reported meanwhile
    if is_open(postponed) and postponed.check_at is None:
        services.log.error("off-ramp order is given up", extra=_facts(order))
    if order.paid_at is not None:
        _read(services, payable.requests[0], postponed)
    return True


def _read(services: Services, request: Request, order: Order) -> None:
    """Takes what the provider says of an order now, and logs what an operator has to ask the provider about."""
    facts = _facts(order)
    found = services.compliance.order(order.order_id)
    if found is None or not is_of(order, found):
        _miss(services, order)
        return
    now_known = take(services, _for_paid(services, request, order, found), is_for_paid=True)
    if is_late(now_known, services.clock(), timedelta(seconds=services.settings.offramp_late_seconds)):
        services.log.error("off-ramp order is late", extra={**facts, "status": now_known.provider_status})


def _miss(services: Services, order: Order) -> None:
    """Counts that the provider did not know an order. One that was not known for long is lost."""
    payable = link_store.load_payable(services.store, order.request_id)
    if payable is None or payable.order is None or not is_open(payable.order):
        return
    after = miss_order(payable.order, services.clock(), pace(services))
    try:
        commit(services, payable, payable.order, Advance(after))
    except WriteConflict:
        return
    if after.status is OrderStatus.LOST:
        services.log.error("off-ramp order is not known to the provider", extra=_facts(order))
    else:
        services.log.warning("off-ramp order was not found at the provider", extra=_facts(order))


def _for_paid(services: Services, request: Request, order: Order, found: ProviderOrder) -> ProviderOrder:
    """The order for as many tokens as were paid: where a rate decides how many that are, it is not known before.

    One query, and a request to the provider if it has another number.
    """
    if not (is_converted(request) and may_be_amended(order)):
        return found
    paid = amount_paid_out(request, payment_store.payments(services.store, request.request_id))
    if is_for(found.amount, request, paid):
        return found
    try:
        amended = services.compliance.put_order(new_order(request, order.user_id, order.details_id, paid))
    except ProviderRefused:
        amended = found
    if not is_of(order, amended) or not is_for(amended.amount, request, paid):
        services.log.error("off-ramp order is not for what was paid", extra=_facts(order))
    return amended if is_of(order, amended) else found


def _facts(order: Order) -> dict[str, str]:
    return {"payable": order.request_id, "provider_id": order.provider_id}
