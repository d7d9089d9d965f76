"""Which events notify the merchant of an off-ramp order: its steps in order, what stands beside them, and its end.

    provider    created -> initiated -> pending_internal_assessment -> ongoing_checks -> sending_fiat -> fiat_sent
                beside these: retry_required, bounced, insufficient_funds, failed, cancelled, refunded
    merchant    payment.processing for each step, in order, each once; a step that the provider leaves out is added
                payment.confirmed after fiat_sent
                payment.failed for bounced, insufficient_funds, failed, cancelled, refunded

The steps begin when the request is paid on chain, whatever the provider says before. They begin again when the
provider goes on after a failure, and when the payment is on chain again after a fork removed it: the merchant was
notified of both by payment.failed. What the provider says is numbered: only a newer number counts, so that a report
that comes twice, late or in another order changes nothing, and one that is lost is made up for by the next.

An order that the provider does not know, or that never ends, is given up in the end (Pace). The merchant is notified
nothing then: the money may be on its way, and a request that has failed would be paid again. An operator asks the
provider, and says what became of it (after_settlement).
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.offramp.core.records import Order, OrderStatus

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
FEWEST_MISSES = 3
"""How often the provider is asked at least before an order that it does not know is lost."""
ENDS = (OrderStatus.FIAT_SENT, OrderStatus.FAILED, OrderStatus.REFUNDED)
"""How an operator may settle an order."""
SETTLED = "settled_by_operator"
"""The reason of an order that an operator has settled."""


class Notification(StrEnum):
    """By which event a merchant is notified."""

    PROCESSING = "payment.processing"
    CONFIRMED = "payment.confirmed"
    FAILED = "payment.failed"


@frozen
class Announcement:
    """One event that is due; `status` is its subStatus."""

    notification: Notification
    status: OrderStatus


@frozen
class Advance:
    """The order after something became known, and what the merchant is notified, in this order."""

    order: Order
    announcements: tuple[Announcement, ...] = ()


@frozen
class OrderReport:
    """What the provider says of an order. `sequence` is its number of this state, `provider_status` its own word,
    `amount` and `fee` are those of the order; empty: not stated."""

    sequence: int
    provider_status: str
    reason: str | None = None
    amount: str = ""
    fee: str = ""

    @property
    def status(self) -> OrderStatus:
        try:
            status = OrderStatus(self.provider_status)
        except ValueError:
            return OrderStatus.UNKNOWN
        return OrderStatus.UNKNOWN if status is OrderStatus.LOST else status  # which this service alone says


@frozen
class Pace:
    """How often an order is read at the provider, and when it is not any more.

    It is first read `first_check` after the last news. One that the provider does not know for `lost_after` is lost;
    one without an end of which nothing was heard for `given_up_after` is given up: it is read no more.
    """

    first_check: timedelta
    lost_after: timedelta
    given_up_after: timedelta


def after_report(order: Order, report: OrderReport, now: datetime, pace: Pace) -> Advance:
    """What a report of the provider changes: its state unless it is newer than the last. A lost order takes the last
    one again, as the provider knows it after all."""
    is_lost = order.status is OrderStatus.LOST
    order = replace(order, missing_since=None, misses=0)
    if report.sequence < order.sequence or (report.sequence == order.sequence and not is_lost):
        return Advance(order)
    taken = replace(
        order,
        sequence=report.sequence,
        status=report.status,
        provider_status=report.provider_status,
        reason=report.reason,
        amount=report.amount or order.amount,
        fee=report.fee or order.fee,
    )
    if taken.provider_status != order.provider_status:
        taken = replace(_change_status(order.status, taken), changed_at=now, checks=0)
    return _notify_due(replace(taken, check_at=next_check(taken, now, pace)))


def after_settlement(order: Order, end: OrderStatus, now: datetime) -> Advance:
    """What the word of an operator changes: the order has come to one of the ENDS. It is not read any more."""
    settled = replace(
        order,
        status=end,
        provider_status=end.value,
        reason=SETTLED,
        changed_at=now,
        checks=0,
        missing_since=None,
        misses=0,
        check_at=None,
    )
    return _notify_due(_change_status(order.status, settled))


def after_payment(order: Order, is_paid: bool, now: datetime) -> Advance:
    """What the chain changes: the request became paid, or is not paid any more. The next check is due at once."""
    if is_paid is (order.paid_at is not None):
        return Advance(order)
    if not is_paid:
        return Advance(replace(order, paid_at=None, announced=0, is_settled=False, check_at=now))
    return _notify_due(replace(order, paid_at=now, aside=None, check_at=now, checks=0))


def check_order(order: Order, now: datetime, pace: Pace) -> Advance:
    """The order after it was read at the provider without news, and what was not announced yet (`before_end`)."""
    again = replace(order, checks=order.checks + 1)
    return _notify_due(replace(again, check_at=next_check(again, now, pace)))


def miss_order(order: Order, now: datetime, pace: Pace) -> Order:
    """The order after the provider was asked and did not know it. One that has ended is not missed."""
    if not is_open(order):
        return order
    since = order.missing_since or now
    missed = replace(order, missing_since=since, misses=order.misses + 1)
    if order.status is OrderStatus.LOST or missed.misses < FEWEST_MISSES or now - since < pace.lost_after:
        return missed
    return replace(
        missed, status=OrderStatus.LOST, provider_status=OrderStatus.LOST.value, reason=None, changed_at=now, aside=None
    )


def before_end(advance: Advance, now: datetime) -> Advance:
    """What was reported without the end, which the next check announces: the payment that it shows was not found."""
    waiting = tuple(each for each in advance.announcements if each.notification is not Notification.CONFIRMED)
    if len(waiting) == len(advance.announcements):
        return advance
    return Advance(replace(advance.order, is_settled=False, check_at=now), waiting)


def next_check(order: Order, now: datetime, pace: Pace) -> datetime | None:
    """When an order is checked next; None if nothing is expected: the request is long unpaid, or the order long ended,
    or it is given up."""
    if order.status is OrderStatus.REFUNDED:
        return None
    if order.paid_at is None:
        payable_until = order.created_at + _PAYABLE
        return payable_until if now < payable_until and order.status not in FAILURES else None
    if order.status is OrderStatus.FIAT_SENT or order.status in FAILURES:
        return now + _PAUSE_AFTER_END if now < order.changed_at + WATCHED_AFTER_END else None
    if now >= max(order.paid_at, order.changed_at) + pace.given_up_after:
        return None
    pause: timedelta = pace.first_check * 2 ** min(order.checks, 10)
    return now + min(pause, LONGEST_PAUSE)


def is_open(order: Order) -> bool:
    """Whether the order was paid and its end is not known."""
    return order.paid_at is not None and order.status not in (OrderStatus.FIAT_SENT, *FAILURES)


def is_under_way(order: Order) -> bool:
    """Whether the payer's money may be at the provider, or on the way there: then the payer is not erased."""
    return order.check_at is not None and not order.is_settled


def is_late(order: Order, now: datetime, limit: timedelta) -> bool:
    """Whether an order has been paid for longer than `limit` without an end: an operator should ask the provider."""
    if order.paid_at is None or order.status is OrderStatus.REFUNDED or order.is_settled:
        return False
    return now - order.paid_at > limit


def _change_status(before: OrderStatus, order: Order) -> Order:
    """The order in another status than before: what was announced of the old one may be announced again. What is
    bounced was sent before, so that the provider has gone on after a failure that was announced."""
    if before is order.status:
        return order
    has_gone_on = before in FAILURES and (order.status not in FAILURES or order.status is OrderStatus.BOUNCED)
    return replace(order, announced=0 if has_gone_on else order.announced, aside=None)


def _notify_due(order: Order) -> Advance:
    """The order when the merchant was notified all that is due, and what that is."""
    announcements = tuple(_due(order))
    if order.paid_at is not None:
        order = replace(order, announced=max(order.announced, _count_steps(order)))
    for each in announcements:
        if each.notification is Notification.CONFIRMED:
            order = replace(order, is_settled=True)
        elif each.notification is Notification.FAILED:
            order = replace(order, is_settled=False)
        if each.status not in STEPS:
            order = replace(order, aside=each.status)
    return Advance(order, announcements)


def _due(order: Order) -> Iterator[Announcement]:
    is_paid = order.paid_at is not None
    if is_paid:
        for step in STEPS[order.announced : _count_steps(order)]:
            yield Announcement(Notification.PROCESSING, step)
        if order.status is OrderStatus.FIAT_SENT and not order.is_settled:
            yield Announcement(Notification.CONFIRMED, order.status)
    if order.aside is order.status:
        return
    if is_paid and order.status in (OrderStatus.RETRY_REQUIRED, OrderStatus.BOUNCED):
        yield Announcement(Notification.PROCESSING, order.status)
    if order.status in FAILURES:
        yield Announcement(Notification.FAILED, order.status)


def _count_steps(order: Order) -> int:
    """How many of the steps are over or under way, by the status of the provider. A paid order has begun."""
    status = _BEFORE.get(order.status, order.status)
    return STEPS.index(status) + 1 if status in STEPS else 1
