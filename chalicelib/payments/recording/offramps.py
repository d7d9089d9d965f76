"""Off-ramp orders of requests that are paid on chain: the events that tell of their steps, failures and end."""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.timestamps import iso
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import FAILURES, Advance, Announcement, Telling, after_payment, before_end
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.events import event_of, payment_event
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext, Payload

_CLOSED = (OrderStatus.BOUNCED, OrderStatus.INSUFFICIENT_FUNDS)
"""The failures that have a subStatus of their own; receivers know no others but `failed`."""
_APART = timedelta(milliseconds=1)
"""Events that happen together have times in their order."""


@frozen
class Followed:
    """An order and its request after something became known, and the events that tell of it."""

    order: Order
    request: Request
    events: tuple[Event, ...] = ()


def fiat_status(order: Order) -> RequestStatus | None:
    """What the status of the request shows of its order; None while it is neither paid nor failed."""
    if order.status in FAILURES:
        return RequestStatus.FAILED
    if order.paid_at is None:
        return None
    return RequestStatus.PAID if order.is_settled else RequestStatus.PROCESSING


def follow_payment(
    payable: Payable, order: Order, request: Request, payment: Payment | None, is_undone: bool, context: EventContext
) -> Followed:
    """What a recorded payment changes for the order; `request` is the state after it.

    `is_undone` means that the merchant was told by payment.failed that a payment is gone. Then the steps begin again if
    the request is paid all the same.
    """
    if is_undone:
        order = after_payment(order, False, context.now).order
    advance = after_payment(order, request.status is RequestStatus.PAID, context.now)
    return followed(payable, advance, request, payment, context)


def followed(
    payable: Payable, advance: Advance, request: Request, payment: Payment | None, context: EventContext
) -> Followed:
    """An order with its events. `payment` is the one that completed the request; without it, the end is told later."""
    if payment is None:
        advance = before_end(advance, context.now)
    order = advance.order
    shown = replace(request, fiat=fiat_status(order))
    settled = replace(payable, requests=(shown,), order=order)
    events = []
    for number, each in enumerate(advance.announcements):
        at = replace(context, now=context.now + number * _APART)
        if payment is not None and each.telling is Telling.CONFIRMED:
            events.append(payment_event(settled, shown, payment, at))
        else:
            events.append(_event(order, shown, each, at))
    return Followed(order, shown, tuple(events))


def _event(order: Order, request: Request, told: Announcement, context: EventContext) -> Event:
    payload = _payload(order, request, told, context)
    if told.telling is Telling.FAILED:
        payload |= _of_failure(order, request, told.status)
    return event_of(request, [payload], context)


def _payload(order: Order, request: Request, told: Announcement, context: EventContext) -> Payload:
    return {
        "event": told.telling.value,
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "offrampId": order.order_id,
        "timestamp": iso(context.now),
        "subStatus": told.status.value,
        "isCryptoToFiat": True,
        "paymentProcessor": context.processor(is_fiat=True),
        "rawPayload": {"status": order.provider_status, "providerId": order.provider_id},
        **request.origin_facts,
    }


def _of_failure(order: Order, request: Request, status: OrderStatus) -> Payload:
    """What only a failure shows: why, and what is owed and was paid on chain."""
    return {
        "subStatus": status.value if status in _CLOSED else OrderStatus.FAILED.value,
        "failureReason": order.reason or status.value,
        "amount": amount_text(request.amount, request),
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "txHash": request.tx_hash,
        "network": request.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": currency_of(request).symbol,
    }
