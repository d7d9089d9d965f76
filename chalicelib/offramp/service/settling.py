"""Settles off-ramp orders by the word of an operator, who knows from the provider what became of the money."""

from chalicelib.base.errors import Conflict, NotFound
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import Advance, after_report, after_settlement
from chalicelib.offramp.service import orders
from chalicelib.offramp.service.flows import commit, pace
from chalicelib.payments.links import store as link_store
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.outbound.compliance import ProviderOrder
from chalicelib.platform.services import Services


def settle(services: Services, actor: Actor, request_id: str, end: OrderStatus) -> Order:
    """The order of a paid request, which has come to one of the ENDS; its merchant is notified of that.

    The provider is asked first: what it says of an order that it knows is never overruled. One transaction, with an
    audit entry. Raises NotFound; Conflict if the request is not paid, the order is settled so already, or the provider
    says something else; ProviderUnavailable; WriteConflict.
    """
    payable = link_store.load_payable(services.store, request_id)
    if payable is None or payable.order is None:
        raise NotFound(f"There is no off-ramp order of the request {request_id}.")
    order = payable.order
    if order.paid_at is None:
        raise Conflict("The request is not paid on its chain, so that nothing is paid out for it.")
    advance = _advance(services, order, _read_order(services, order), end)
    if advance.order.status is order.status and not advance.announcements:
        raise Conflict(f"The order is settled as {end.value} already.")
    entry = audit.make_entry(actor, "offramp.settled", order.order_id, services.clock(), services.entropy)
    return commit(services, payable, order, advance, entry)


def _read_order(services: Services, order: Order) -> ProviderOrder | None:
    """What the provider knows of the order; None without a provider, too."""
    found = services.compliance.order(order.order_id) if services.compliance.is_configured else None
    return found if found is not None and orders.is_of(order, found) else None


def _advance(services: Services, order: Order, found: ProviderOrder | None, end: OrderStatus) -> Advance:
    now = services.clock()
    if found is None:
        return after_settlement(order, end, now)
    if found.status != end.value:
        raise Conflict(f"The provider says that the order is {found.status}: have the provider correct it first.")
    return after_report(order, orders.report_of(found), now, pace(services))
