"""What an off-ramp order is told to the merchant by: its steps in order, what stands beside them, and its end.

    provider    created -> initiated -> pending_internal_assessment -> ongoing_checks -> sending_fiat -> fiat_sent
                beside these: retry_required, bounced, insufficient_funds, failed, cancelled, refunded
    merchant    payment.processing for each step, in order, each once; a step that the provider leaves out is added
                payment.confirmed after fiat_sent
                payment.failed for bounced, insufficient_funds, failed, cancelled, refunded

The steps begin when the request is paid on chain, whatever the provider says before. They begin again when the
provider goes on after a failure, and when the payment is on chain again after a fork removed it: the merchant was told
of both by payment.failed. What the provider says is numbered: only a newer number counts, so that a report that comes
twice, late or in another order changes nothing, and one that is lost is made up for by the next.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.requests.offramps.records import Order, OrderStatus
from chalicelib.requests.records import RequestStatus

STEPS = (
    OrderStatus.INITIATED,
    OrderStatus.PENDING_INTERNAL_ASSESSMENT,
    OrderStatus.ONGOING_CHECKS,
    OrderStatus.SENDING_FIAT,
    OrderStatus.FIAT_SENT,
)
FAILURES = (
    OrderStatus.BOUNCED,
    OrderStatus.INSUFFICIENT_FUNDS,
    OrderStatus.FAILED,
    OrderStatus.CANCELLED,
    OrderStatus.REFUNDED,
)
OVER = (OrderStatus.FAILED, OrderStatus.CANCELLED, OrderStatus.REFUNDED)
"""The provider sends no fiat: the request cannot be paid any more."""
_BEFORE = {OrderStatus.RETRY_REQUIRED: OrderStatus.ONGOING_CHECKS, OrderStatus.BOUNCED: OrderStatus.SENDING_FIAT}
"""The step that came before a status beside them, at least; INITIATED for others."""
LONGEST_PAUSE = timedelta(hours=6)
"""Between two checks of an order under way; each pause is twice the last one."""
WATCHED_AFTER_END = timedelta(days=14)
"""How long an order is still read after fiat was sent or it failed: banks return money days later."""
_PAUSE_AFTER_END = timedelta(days=1)
_PAYABLE = timedelta(days=1)
"""How long after an order was made its payment may be on the way. An order that is paid later counts from then."""


class Telling(StrEnum):
    """By which event a merchant is told."""

    PROCESSING = "payment.processing"
    CONFIRMED = "payment.confirmed"
    FAILED = "payment.failed"


@frozen
class Announcement:
    """One event that is due; `status` is its subStatus."""

    telling: Telling
    status: OrderStatus


@frozen
class Advance:
    """The order after something became known, and what the merchant is told, in this order."""

    order: Order
    announcements: tuple[Announcement, ...] = ()


@frozen
class OrderReport:
    """What the provider says of an order. `sequence` is its number of this state, `provider_status` its own word."""

    sequence: int
    provider_status: str
    reason: str | None = None

    @property
    def status(self) -> OrderStatus:
        try:
            return OrderStatus(self.provider_status)
        except ValueError:
            return OrderStatus.UNKNOWN


def after_report(order: Order, report: OrderReport, now: datetime, first_check: timedelta) -> Advance:
    """What a report of the provider changes: nothing unless it is newer than the last."""
    if report.sequence <= order.sequence:
        return Advance(order)
    taken = replace(
        order,
        sequence=report.sequence,
        status=report.status,
        provider_status=report.provider_status,
        reason=report.reason,
    )
    if taken.provider_status != order.provider_status:
        taken = replace(_moved(order.status, taken), changed_at=now, checks=0)
    return _told(replace(taken, check_at=next_check(taken, now, first_check)))


def after_payment(order: Order, is_paid: bool, now: datetime) -> Advance:
    """What the chain changes: the request became paid, or is not paid any more. The next check is due at once."""
    if is_paid is (order.paid_at is not None):
        return Advance(order)
    if not is_paid:
        return Advance(replace(order, paid_at=None, announced=0, is_settled=False, check_at=now))
    return _told(replace(order, paid_at=now, aside=None, check_at=now, checks=0))


def checked(order: Order, now: datetime, first_check: timedelta) -> Order:
    """The order after it was read at the provider without news."""
    again = replace(order, checks=order.checks + 1)
    return replace(again, check_at=next_check(again, now, first_check))


def next_check(order: Order, now: datetime, first_check: timedelta) -> datetime | None:
    """When it is checked next; None if nothing is expected: the request is long unpaid, or the order long ended."""
    if order.status is OrderStatus.REFUNDED:
        return None
    if order.paid_at is None:
        payable_until = order.created_at + _PAYABLE
        return payable_until if now < payable_until and order.status not in FAILURES else None
    if order.status is OrderStatus.FIAT_SENT or order.status in FAILURES:
        return now + _PAUSE_AFTER_END if now < order.changed_at + WATCHED_AFTER_END else None
    pause: timedelta = first_check * 2 ** min(order.checks, 10)
    return now + min(pause, LONGEST_PAUSE)


def state_of(order: Order) -> RequestStatus | None:
    """What the status of the request shows of its order; None while it is neither paid nor failed."""
    if order.status in FAILURES:
        return RequestStatus.FAILED
    if order.paid_at is None:
        return None
    return RequestStatus.PAID if order.is_settled else RequestStatus.PROCESSING


def is_under_way(order: Order) -> bool:
    """Whether the payer's money may be at the provider, or on the way there: then the payer is not erased."""
    return order.check_at is not None and not order.is_settled


def is_late(order: Order, now: datetime, limit: timedelta) -> bool:
    """Whether an order has been paid for longer than `limit` without an end: an operator should ask the provider."""
    if order.paid_at is None or order.status is OrderStatus.REFUNDED or order.is_settled:
        return False
    return now - order.paid_at > limit


def _moved(before: OrderStatus, order: Order) -> Order:
    """The order in another status than before: what was told of the old one may be told again. What is bounced was sent
    before, so that the provider has gone on after a failure that was told."""
    if before in FAILURES and (order.status not in FAILURES or order.status is OrderStatus.BOUNCED):
        return replace(order, announced=0, aside=None, is_settled=False)
    return replace(order, aside=None) if before is not order.status else order


def _told(order: Order) -> Advance:
    """The order when the merchant was told all that is due, and what that is."""
    announcements = tuple(_due(order))
    if order.paid_at is not None:
        order = replace(order, announced=max(order.announced, _reached(order)))
    for each in announcements:
        if each.telling is Telling.CONFIRMED:
            order = replace(order, is_settled=True)
        elif each.telling is Telling.FAILED:
            order = replace(order, is_settled=False)
        if each.status not in STEPS:
            order = replace(order, aside=each.status)
    return Advance(order, announcements)


def _due(order: Order) -> Iterator[Announcement]:
    is_paid = order.paid_at is not None
    if is_paid:
        for step in STEPS[order.announced : _reached(order)]:
            yield Announcement(Telling.PROCESSING, step)
        if order.status is OrderStatus.FIAT_SENT and not order.is_settled:
            yield Announcement(Telling.CONFIRMED, order.status)
    if order.aside is order.status:
        return
    if is_paid and order.status in (OrderStatus.RETRY_REQUIRED, OrderStatus.BOUNCED):
        yield Announcement(Telling.PROCESSING, order.status)
    if order.status in FAILURES:
        yield Announcement(Telling.FAILED, order.status)


def _reached(order: Order) -> int:
    """How many of the steps are over or under way, by the status of the provider. A paid order has begun."""
    status = _BEFORE.get(order.status, order.status)
    return STEPS.index(status) + 1 if status in STEPS else 1
