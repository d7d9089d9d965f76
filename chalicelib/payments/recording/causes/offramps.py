"""Off-ramp orders of requests that are paid on chain: the events that tell of their steps, failures and end."""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.frozen import frozen
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.core.rules import FAILURES, Advance, Announcement, Notification, after_payment, before_end
from chalicelib.payments.events import Counted, event, failed_event
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.events import payment_event
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request, RequestStatus
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

    `is_undone` means that the merchant was notified by payment.failed that a payment is gone. Then the steps begin
    again if the request is paid all the same.
    """
    if is_undone:
        order = after_payment(order, False, context.now).order
    advance = after_payment(order, request.status is RequestStatus.PAID, context.now)
    return follow_order(payable, advance, request, payment, context)


def follow_order(
    payable: Payable, advance: Advance, request: Request, payment: Payment | None, context: EventContext
) -> Followed:
    """An order with its events. `payment` is the one that completed the request; without it, the end is announced
    later."""
    if payment is None:
        advance = before_end(advance, context.now)
    order = advance.order
    shown = replace(request, fiat=fiat_status(order))
    settled = replace(payable, requests=(shown,), order=order)
    events = []
    for number, each in enumerate(advance.announcements):
        at = replace(context, now=context.now + number * _APART)
        if payment is not None and each.notification is Notification.CONFIRMED:
            events.append(payment_event(settled, shown, payment, at))
        else:
            events.append(_event(order, shown, each, at))
    return Followed(order, shown, tuple(events))


def _event(order: Order, request: Request, notified: Announcement, context: EventContext) -> Event:
    of_order: Payload = {
        "offrampId": order.order_id,
        "isCryptoToFiat": True,
        "paymentProcessor": context.processor(is_fiat=True),
        "rawPayload": {"status": order.provider_status, "providerId": order.provider_id},
    }
    if notified.notification is not Notification.FAILED:
        return event(request, notified.notification.value, context, subStatus=notified.status.value, **of_order)
    status = notified.status if notified.status in _CLOSED else OrderStatus.FAILED
    reason = order.reason or notified.status.value
    counted = Counted(request.amount)
    return failed_event(request, reason, context, counted, request.tx_hash, subStatus=status.value, **of_order)
