"""Makes the off-ramp order of a request, and takes what the provider says of it.

The provider makes one order for each id, and the id is that of the request. So what a crash or a lost answer leaves is
finished by the same call again, and nothing is ordered twice.
"""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.offramp.core import store as offramp_store
from chalicelib.offramp.core.records import Order, OrderStatus, request_id_of
from chalicelib.offramp.core.rules import Advance, Notification, Pace, after_report, is_under_way
from chalicelib.offramp.payers import reading as payer_reading
from chalicelib.offramp.payers import rules as payer_rules
from chalicelib.offramp.payers import store as payer_store
from chalicelib.offramp.payers.records import BankAccount, Payer
from chalicelib.offramp.payers.reports import UNKNOWN_SUBJECT
from chalicelib.offramp.service import orders, rules
from chalicelib.offramp.service.rules import ChosenAccount
from chalicelib.payments.events import number_events
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.causes.offramps import follow_order
from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import check_changes
from chalicelib.platform.outbound.compliance import ProviderOrder, ProviderRefused, ProviderUnavailable
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Add, with_next_version
from chalicelib.webhooks import flows as webhooks


def for_bank_account(
    services: Services, owner: Owner, request: Request, chosen: ChosenAccount, amount: BaseUnits
) -> Request:
    """A request that may be paid out to a bank account, with the payee that is paid now.

    Without a chosen account that is the payee that it was created with. With one, the provider's deposit address: the
    first call has the provider make the order, for `amount` in base units of the token, and is one transaction. A later
    one has it change the amount, if another rate asks for another one and nothing was paid yet. Raises
    BadRequest, Forbidden, NotFound or Conflict with what to do, ProviderUnavailable.
    """
    if chosen.both is None:
        if (
            request.payee
            and chosen.details_id is None
            and offramp_store.order(services.store, request.request_id) is None
        ):
            return request
        raise BadRequest("This request is paid out to a bank account: give clientUserId and paymentDetailsId")
    check_changes(owner, request)
    payer, account = payer_reading.payable(services, owner.account_id, *chosen.both)
    order = offramp_store.order(services.store, request.request_id)
    if order is not None:
        rules.check_order(order, payer, account)
        return _renew_order(services, request, order, amount)
    return _order_payout(services, request, payer, account, amount)


@retry_conflicts(5)
def take(services: Services, found: ProviderOrder, is_for_paid: bool = False) -> Order:
    """The order after a report of the provider. One query without news, else up to two reads more and a transaction.

    That too few tokens arrived counts for a converted amount only if the order `is_for_paid`: for what was paid. Else
    the next check makes it so. Raises NotFound unless this service has ordered it, for that bank account.
    """
    request_id = request_id_of(found.order_id)
    report = orders.report_of(found)
    payable = link_store.load_payable(services.store, request_id) if request_id else None
    if payable is None or payable.order is None or not orders.is_of(payable.order, found):
        raise NotFound(UNKNOWN_SUBJECT)
    if rules.waits_for_amount(payable.requests[0], report) and not is_for_paid:
        due_now = payable.order.paid_at is not None and report.sequence > payable.order.sequence
        advance = Advance(replace(payable.order, check_at=services.clock()) if due_now else payable.order)
    else:
        advance = after_report(payable.order, report, services.clock(), pace(services))
    return payable.order if advance.order == payable.order else commit(services, payable, payable.order, advance)


def commit(services: Services, payable: Payable, before: Order, advance: Advance, *also: AuditEntry) -> Order:
    """Writes an order with what follows from it, in one transaction.

    While money is under way, the payer's `open_orders` include the order. Raises WriteConflict.
    """
    (request,) = payable.requests
    payment = None
    if any(each.notification is Notification.CONFIRMED for each in advance.announcements):
        payment = _completing(services, request)
    after = follow_order(payable, advance, request, payment, webhooks.event_context(services))
    counted = replace(after.order, is_counted=is_under_way(after.order))
    (numbered,), events = number_events([after.request], after.events)
    changed = _with_counts(request, numbered) if numbered != request else []
    stored = services.store.write(counted, *changed, *_payers(services, before, counted), *events, *also)
    if after.order.status is OrderStatus.UNKNOWN:
        facts = {"payable": request.request_id, "status": after.order.provider_status}
        services.log.error("off-ramp order has a status that is not known", extra=facts)
    webhooks.queue_publishing(services, events)
    return stored


def pace(services: Services) -> Pace:
    settings = services.settings
    return Pace(
        timedelta(seconds=settings.offramp_check_seconds),
        timedelta(seconds=settings.offramp_lost_seconds),
        timedelta(seconds=settings.offramp_give_up_seconds),
    )


def _renew_order(services: Services, request: Request, order: Order, amount: BaseUnits) -> Request:
    """The request, after the provider was notified of another amount that is to be paid. It may keep the old one if it
    has begun: then the order is for what was paid once that is confirmed (offramp/service/checking.py)."""
    is_same = not rules.is_converted(request) or orders.is_for(order.amount, request, amount)
    if is_same or request.paid or order.paid_at is not None:
        return request
    found = _put(services, request, order.user_id, order.details_id, amount)
    if not orders.is_of(order, found) or _deposit_address(services, request, found) != request.payee:
        raise ProviderUnavailable("the order has another bank account or deposit address than before")
    take(services, found)
    return request


def _deposit_address(services: Services, request: Request, found: ProviderOrder) -> str:
    from chalicelib.platform.own_accounts.flows import own_addresses  # the worker checks no addresses

    return orders.deposit_address(request, found, own_addresses(services))


def _order_payout(
    services: Services, request: Request, payer: Payer, account: BankAccount, amount: BaseUnits
) -> Request:
    """The request with the provider's deposit address as its payee. One request to the provider, one transaction."""
    rules.check_unpaid(request)
    found = _put(services, request, payer.user_id, account.details_id, amount)
    rules.check_same(found.user_id, found.account_id, payer, account)
    address = _deposit_address(services, request, found)
    return _store_deposit(services, request.request_id, payer, account, found, address)


@retry_conflicts(5)
def _store_deposit(
    services: Services, request_id: str, payer: Payer, account: BankAccount, found: ProviderOrder, address: str
) -> Request:
    payable = link_store.load_payable(services.store, request_id)
    assert payable is not None, "a request is never deleted"
    (request,) = payable.requests
    if payable.order is not None:  # another call was faster, with the same id, so for the same order
        rules.check_order(payable.order, payer, account)
        return request
    rules.check_unpaid(request)
    order = orders.order_of(request, found, services.clock())
    deposited = replace(payable, requests=(replace(request, payee=address),))
    advance = after_report(order, orders.report_of(found), services.clock(), pace(services))
    after = follow_order(deposited, advance, deposited.requests[0], None, webhooks.event_context(services))
    counted = replace(after.order, is_counted=is_under_way(after.order))
    people = _payers(services, order, counted)
    if any(each.erased_at for each in people):
        raise NotFound(payer_reading.NOBODY)
    (numbered,), events = number_events([after.request], after.events)
    services.store.write(counted, *_with_counts(request, numbered), *people, *events)
    webhooks.queue_publishing(services, events)
    return with_next_version(request_counts.mark_request(numbered))


def _put(services: Services, request: Request, user_id: str, details_id: str, amount: BaseUnits) -> ProviderOrder:
    """The provider's order for an amount. Raises BadRequest, ProviderUnavailable."""
    try:
        return services.compliance.put_order(orders.new_order(request, user_id, details_id, amount))
    except ProviderRefused as refusal:
        wrong = f" ({', '.join(refusal.fields)})" if refusal.fields else ""
        raise BadRequest(f"The provider does not accept this payout{wrong}") from None


def _completing(services: Services, request: Request) -> Payment | None:
    """The payment that completed a paid request, if it is still there. One query."""
    payments = payment_store.payments(services.store, request.request_id)
    confirmed = [each for each in payments if each.status is PaymentStatus.CONFIRMED]
    newest = confirmed[-1] if confirmed else None
    return next((each for each in confirmed if each.tx_hash == request.tx_hash), newest)


def _with_counts(before: Request, after: Request) -> list[Request | Add]:
    """A request as it is written, with what that adds to the daily counts."""
    marked = request_counts.mark_request(after)
    return [marked, *(Add(*each) for each in request_counts.amounts([before], [marked]))]


def _payers(services: Services, before: Order, after: Order) -> list[Payer]:
    """The payer with the order counted, or not any more; nothing if that does not change. One read if it does."""
    change = after.is_counted - before.is_counted
    payer = payer_store.payer(services.store, after.user_id) if change else None
    return [] if payer is None else [payer_rules.with_orders(payer, change)]
