"""Whether a link or a request can be cancelled, and what changes by it.

What is paid already is not cancelled, nor is anything while money for it may be on its way: then it is refused in words
that say what to wait for or to withdraw. A payment that arrives all the same is recorded, is not owed, and is offered
to be refunded (payments/transfers/rules.py).
"""

from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.offramp.core.rules import OVER
from chalicelib.payments.events import event
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    Link,
    LinkStatus,
    Payable,
    PayableLink,
    Proof,
)
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

UNRECORDED = "A payment of this was seen and is being recorded: ask again in a minute"
AT_ONCE = 24
"""Requests that are cancelled by one transaction. Each is written with its event, and may change two counts of its day;
the link, the multicall that has claimed it and an audit entry are written with them."""


@frozen
class Cancelled:
    """A link, if any, after some of its requests were cancelled, those requests, and the events of them."""

    link: Link | None
    changed: tuple[Request, ...]
    events: tuple[Event, ...]


def check_request(request: Request, payable: Payable) -> None:
    """Raises BadRequest for a request of a link or of a recurring payout, Conflict if it is paid, or if money for it
    may be under way."""
    if payable.link is not None:
        token = payable.link.token
        raise BadRequest(f"This request is part of a link: POST /v2/secure-payments/{token}/cancel cancels that")
    if request.recurring_payment_id is not None:
        raise BadRequest(
            "This request is a period of a recurring payout, which PATCH /v2/payouts/recurring/"
            f"{request.recurring_payment_id} with the action cancel ends"
        )
    _check_unpaid(payable)
    check_not_under_way(payable)


def check_link(payable: PayableLink) -> None:
    """Raises Conflict if a link is paid, was replaced by a batch, is paid through the escrow, or if money for it may be
    under way. A multicall has to be given the requests of its children."""
    link = payable.link
    if link.status is LinkStatus.INVALIDATED:
        raise Conflict(f"This payout was merged into the batch {link.successor_token}: cancel that")
    if payable.commerce is not None:
        raise Conflict(_of_commerce(payable.commerce))
    _check_unpaid(payable)
    check_not_under_way(payable)


def cancel_link(payable: Payable, now: datetime, context: EventContext) -> Cancelled:
    """What changes: the link at once, and of its requests the next AT_ONCE of those that do not say so yet."""
    link = payable.link
    at = (link.cancelled_at if link is not None else None) or now
    left = [each for each in payable.requests if each.cancelled_at is None and each.status is not RequestStatus.PAID]
    changed = [replace(each if each.is_cancelled else each.as_cancelled(), cancelled_at=at) for each in left[:AT_ONCE]]
    if link is not None:
        is_unfinished = len(left) > AT_ONCE
        link = replace(link, status=LinkStatus.CANCELLED, cancelled_at=at, is_being_cancelled=is_unfinished)
    events = tuple(
        event(each, "request.cancelled", context, reference=payable.reference_of(each)) for each in changed
    )
    return Cancelled(link, tuple(changed), events)


def _check_unpaid(payable: Payable) -> None:
    if payable.is_paid:
        raise Conflict("This is paid already: what was received can be refunded")


def check_not_under_way(payable: Payable) -> None:
    """Raises Conflict, in words that say what to wait for or to withdraw, while money for it may be under way."""
    if payable.order is not None and payable.order.status not in OVER:
        raise Conflict(
            "The provider has made an order for the bank account, to which tokens may be on their way: wait until "
            "the provider ends that order"
        )
    for request in payable.requests:
        if request.is_executed and request.execution is not None:
            intent_id = request.execution.intent_id
            raise Conflict(
                "A payment that its payer has signed is being made: wait for its end. If it is from another chain, "
                f"DELETE /v2/request/payment-intents/{intent_id} withdraws it as long as nothing was taken"
            )
    announcements = payable.announcements
    if announcements is not None and any(map(_may_pay, announcements.all)):
        raise Conflict(
            "A transaction that pays this was announced and has not ended: wait for its end, or withdraw it by DELETE "
            f"/v2/secure-payments/{announcements.link_token}/intent"
        )


def _may_pay(announced: AnnouncedTransaction) -> bool:
    """Whether a transaction is likely to pay: the link waits for it, or its node or a bridge has it."""
    is_known = announced.proof is Proof.SENT or announced.bridge_transfer is not None
    return announced.status is AnnouncedStatus.PENDING and (announced.locks or is_known)


def _of_commerce(payment: CommercePayment) -> str:
    if payment.capturable:
        return "The escrow holds the money of this commerce payment: void it, which gives the money back to its payer"
    if payment.is_collected:
        return "The money of this commerce payment was taken already: what was captured can be refunded"
    return (
        "A commerce payment ends by its terms, which the escrow knows: without an authorization nothing is taken, and "
        f"it cannot be paid any more after {payment.pre_approval_expiry:%Y-%m-%dT%H:%M:%SZ}"
    )
