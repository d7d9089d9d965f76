"""Notices of transfers with a request's reference that no other event announces, and how many of them are sent.

    the request was paid before        a payment that counts and is not owed
    another token, network or payee    an unmatched transfer that is stored

Anybody can make them with a public reference. So none is announced of a token that is not in the catalogue, which costs
nothing to create, nor of what is not stored; and of a request at most MAX_A_DAY a day (UTC). The others are counted,
and the next event has their number. A payment that the payee has received a noticeable part of the amount by (NOTICED)
is announced whatever came before it on that day, and so is what the payee has received much of in another token
(`unmatched.is_noticeable`): a stranger's dust hides no payment of a customer.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.events import unexpected_event
from chalicelib.payments.recording.unmatched import is_noticeable, token_of
from chalicelib.payments.requests.payments.records import NOTICED, Payment, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

MAX_A_DAY = 10


def notify_payment(
    payable: Payable, request: Request, payment: Payment, context: EventContext
) -> tuple[Request, Payment, tuple[Event, ...]]:
    """The request and its payment that was not owed after the merchant is notified of it, with the event, if there is
    one.

    `request` is the state after the payment."""
    is_noticed = payment.excess and payment.excess * NOTICED >= request.amount
    after, has_room = (
        (replace(request, unexpected_unnotified=0), True) if is_noticed else _count_event(request, context.now)
    )
    if not has_room:
        return after, payment, ()
    return after, replace(payment, is_unexpected=True), (unexpected_event(payable, request, payment, context),)


def notify_unmatched(
    payable: Payable,
    request: Request,
    transfer: UnmatchedTransfer,
    stored: Iterable[UnmatchedTransfer],
    payer: str | None,
    context: EventContext,
) -> tuple[Request, UnmatchedTransfer, tuple[Event, ...]]:
    """The request and its unmatched transfer after the merchant is notified of it, with the event, if there is one;
    `payer` is who sent it, if that is known.

    `stored` are the unmatched transfers of the request that were there before.
    """
    if token_of(transfer) is None:
        return request, transfer, ()
    after, has_room = _count_event(request, context.now)
    if not has_room and is_noticeable(request, transfer, stored):
        after, has_room = replace(request, unexpected_unnotified=0), True
    if not has_room:
        return after, transfer, ()
    event = unexpected_event(payable, request, transfer, context, payer)
    return after, replace(transfer, is_unexpected=True), (event,)


def correction_events(
    payable: Payable,
    request: Request,
    transfer: Payment | UnmatchedTransfer,
    context: EventContext,
    payer: str | None = None,
) -> tuple[Event, ...]:
    """The event that corrects what was announced of a transfer that a fork has removed: it is REVERSED here."""
    return (unexpected_event(payable, request, transfer, context, payer),) if transfer.is_unexpected else ()


def _count_event(request: Request, now: datetime) -> tuple[Request, bool]:
    """The request after one more, and whether that is announced. A day is never before the last: clocks differ."""
    today = max(now.date().isoformat(), request.unexpected_on or "")
    number = request.unexpected_count if request.unexpected_on == today else 0
    if number >= MAX_A_DAY:
        return replace(request, unexpected_unnotified=request.unexpected_unnotified + 1), False
    return replace(request, unexpected_on=today, unexpected_count=number + 1, unexpected_unnotified=0), True
