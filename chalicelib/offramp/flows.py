"""Makes the off-ramp order of a request, and takes what the provider says of it.

The provider makes one order for each id, and the id is that of the request. So what a crash or a lost answer leaves is
finished by the same call again, and nothing is ordered twice.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from chalicelib.access.callers import Owner
from chalicelib.base.errors import BadRequest, Forbidden, NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.links import store as link_store
from chalicelib.links.records import Bill
from chalicelib.offramp import orders, rules, store
from chalicelib.offramp.rules import ChosenAccount
from chalicelib.outbound.compliance import ProviderOrder, ProviderRefused
from chalicelib.payers import reading
from chalicelib.payers import rules as payers
from chalicelib.payers import store as payer_store
from chalicelib.payers.records import BankAccount, Payer
from chalicelib.payers.reports import UNKNOWN_SUBJECT
from chalicelib.recording.offramps import followed, needs_payment
from chalicelib.requests import counts
from chalicelib.requests.offramps.records import Order, OrderStatus, request_id_of
from chalicelib.requests.offramps.rules import Advance, after_report, is_under_way
from chalicelib.requests.payments import store as payment_store
from chalicelib.requests.payments.records import Payment, PaymentStatus
from chalicelib.requests.permissions import may_change
from chalicelib.requests.records import Request
from chalicelib.services import Services
from chalicelib.storage.store import Add, WriteConflict
from chalicelib.webhooks import flows as webhooks

_TRIES = 5


def payable(services: Services, owner: Owner, request: Request, chosen: ChosenAccount, amount: BaseUnits) -> Request:
    """A request that may be paid out to a bank account, with the payee that is paid now.

    Without a chosen account that is the payee that it was created with. With one, the provider's deposit address: the
    first call has the provider make the order, for `amount` in base units of the token, and is one transaction. Raises
    BadRequest, Forbidden, NotFound or Conflict with what to do, ProviderUnavailable.
    """
    if chosen.both is None:
        if request.payee and chosen.details_id is None and store.order(services.store, request.request_id) is None:
            return request
        raise BadRequest("This request is paid out to a bank account: give clientUserId and paymentDetailsId")
    if not may_change(owner, request):
        raise Forbidden("Without an API key a client ID chooses bank accounts for its own requests alone")
    payer, account = reading.payable(services, owner.account_id, *chosen.both)
    order = store.order(services.store, request.request_id)
    if order is not None:
        rules.check_order(order, payer, account)
        return request
    return _ordered(services, request, payer, account, amount)


def take(services: Services, found: ProviderOrder) -> Order:
    """The order after a report of the provider. One query without news, else up to two reads more and a transaction.

    Raises NotFound unless this service has ordered it, for that bank account.
    """
    request_id = request_id_of(found.order_id)
    report = orders.report_of(found)
    for _ in range(_TRIES):
        bill = link_store.bill(services.store, request_id) if request_id else None
        if bill is None or bill.order is None or not orders.is_of(bill.order, found):
            raise NotFound(UNKNOWN_SUBJECT)
        advance = after_report(bill.order, report, services.clock(), first_check(services))
        if advance.order == bill.order:
            return bill.order
        if (order := commit(services, bill, bill.order, advance)) is not None:
            return order
    raise WriteConflict


def commit(services: Services, bill: Bill, before: Order, advance: Advance) -> Order | None:
    """Writes an order with what follows from it, in one transaction; None if something was changed meanwhile.

    While money is under way, the payer's `open_orders` include the order.
    """
    (request,) = bill.requests
    counted = replace(advance.order, is_counted=is_under_way(advance.order))
    payment = None
    if needs_payment(advance.announcements) and (payment := _completing(services, request)) is None:
        return None  # a fork has removed it since the bill was read
    after = followed(bill, replace(advance, order=counted), request, payment, webhooks.event_context(services))
    changed = _with_counts(request, after.request) if after.request != request else []
    try:
        services.store.write(after.order, *changed, *_payers(services, before, counted), *after.events)
    except WriteConflict:
        return None
    if after.order.status is OrderStatus.UNKNOWN:
        facts = {"bill": request.request_id, "status": after.order.provider_status}
        services.log.error("off-ramp order has a status that is not known", extra=facts)
    webhooks.queue_announcements(services, after.events)
    return replace(after.order, version=before.version + 1)


def first_check(services: Services) -> timedelta:
    """After how long without news an order is read at the provider."""
    return timedelta(seconds=services.settings.offramp_check_seconds)


def _ordered(
    services: Services, request: Request, payer: Payer, account: BankAccount, amount: BaseUnits
) -> Request:
    """The request with the provider's deposit address as its payee. One request to the provider, one transaction."""
    rules.check_unpaid(request)
    try:
        found = services.compliance.put_order(orders.new_order(request, payer, account, amount))
    except ProviderRefused as refusal:
        wrong = f" ({', '.join(refusal.fields)})" if refusal.fields else ""
        raise BadRequest(f"The provider does not accept this payout{wrong}") from None
    rules.check_same(found.user_id, found.account_id, payer, account)
    address = orders.deposit_address(request, found)
    for _ in range(_TRIES):
        bill = link_store.bill(services.store, request.request_id)
        assert bill is not None, "a request is never deleted"
        (now_stored,) = bill.requests
        if bill.order is not None:  # another call was faster, with the same id, so for the same order
            rules.check_order(bill.order, payer, account)
            return now_stored
        rules.check_unpaid(now_stored)
        order = orders.order_of(now_stored, found, services.clock())
        deposited = replace(bill, requests=(replace(now_stored, payee=address),))
        advance = after_report(order, orders.report_of(found), services.clock(), first_check(services))
        after = followed(deposited, advance, deposited.requests[0], None, webhooks.event_context(services))
        counted = replace(after.order, is_counted=is_under_way(after.order))
        people = _payers(services, order, counted)
        if any(each.erased_at for each in people):
            raise NotFound(reading.NOBODY)
        with suppress(WriteConflict):
            services.store.write(counted, *_with_counts(now_stored, after.request), *people, *after.events)
            webhooks.queue_announcements(services, after.events)
            return replace(counts.marked(after.request), version=now_stored.version + 1)
    raise WriteConflict


def _completing(services: Services, request: Request) -> Payment | None:
    """The payment that completed a paid request, if it is still there. One query."""
    payments = payment_store.payments(services.store, request.request_id)
    confirmed = [each for each in payments if each.status is PaymentStatus.CONFIRMED]
    newest = confirmed[-1] if confirmed else None
    return next((each for each in confirmed if each.tx_hash == request.tx_hash), newest)


def _with_counts(before: Request, after: Request) -> list[Request | Add]:
    """A request as it is written, with what that adds to the daily counts."""
    marked = counts.marked(after)
    return [marked, *(Add(*each) for each in counts.amounts([before], [marked]))]


def _payers(services: Services, before: Order, after: Order) -> list[Payer]:
    """The payer with the order counted, or not any more; nothing if that does not change. One read if it does."""
    change = after.is_counted - before.is_counted
    payer = payer_store.payer(services.store, after.user_id) if change else None
    return [] if payer is None else [payers.with_orders(payer, change)]
