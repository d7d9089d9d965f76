"""Payments: which transfers count for a request, and what a new or a removed one changes.

The totals of a request are changed by each payment, in the transaction that marks the transfer as recorded. So no
decision needs the earlier payments, of which anybody can make any number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from chalicelib.base.addresses import same_address
from chalicelib.base.frozen import frozen, make_from
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import ENDS
from chalicelib.payments.links.records import Link, LinkStatus, Payable
from chalicelib.payments.recording import notices
from chalicelib.payments.recording.events import payment_event, removed_event
from chalicelib.payments.recording.valuation import Valuation
from chalicelib.payments.requests.payments.records import (
    NOTICED,
    Origin,
    Payment,
    PaymentKind,
    PaymentStatus,
    SentRefund,
    UnmatchedTransfer,
)
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.records import LoggedTransfer
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

SMALL_PART = 1000
"""A payment below this part of the request's amount is small."""
MAX_SMALL_PAYMENTS = 100
"""After this number of payments of a request, small ones are only added up as dust: anybody can send any number of
them."""
MAX_PAYMENTS = 2000
"""The number of listed payments of a request after which only the payment that completes it is listed. To reach it
takes almost twice the amount of the request."""

P = TypeVar("P", bound=Payment)
R = TypeVar("R", Payment, SentRefund, UnmatchedTransfer)


@frozen
class Decision:
    """What one transfer changes: its payment (None if it is only added up as dust), request, link (if changed), and
    events."""

    payment: Payment | None
    request: Request
    link: Link | None = None
    events: tuple[Event, ...] = ()
    announced: Payment | None = None
    """Another payment, that is announced now."""


def expecting(request: Request, amount: BaseUnits) -> Request:
    """The request with another amount that is owed, in the units of its amount, and its status by that."""
    return request if amount == request.amount else _with_amount(replace(request, amount=amount), request.paid)


def reassess(payable: Payable, request: Request, transfer: LoggedTransfer, context: EventContext) -> Decision:
    """What changes when another amount is owed of a request than before, as `expecting` has it.

    If the request is paid by that, payment.confirmed announces it. If it is not paid any more because a fork removed a
    void or reclaim, payment.failed does. Both have the amount of 0.
    """
    (before,) = (each for each in payable.requests if each.request_id == request.request_id)
    nothing = replace(transfer, amount=BaseUnits(0), fee_amount=BaseUnits(0))
    payment = _payment_of(payable, request, nothing, Valuation(BaseUnits(0)), context.now)
    if request.status is RequestStatus.PAID:
        events = () if before.status is RequestStatus.PAID else (payment_event(payable, request, payment, context),)
        return Decision(None, request, complete(payable, request, context.now), events)
    is_taken_back = before.status is RequestStatus.PAID and transfer.escrow is not None and transfer.escrow.kind in ENDS
    events = (removed_event(request, payment, context),) if is_taken_back else ()
    return Decision(None, request, _reopen_link(payable, request), events)


def must_write_link(payable: Payable) -> bool:
    """Whether every payment also writes the link, so that its transaction conflicts with the link's others.

    The payment that completes the last of several requests completes the link. Without the conflict, two payments
    recorded concurrently could each see the other's request as unpaid.
    """
    return len(payable.requests) > 1


def apply(payable: Payable, decision: Decision) -> Payable:
    """The payable with a decision applied, as the input for the next transfer of the same transaction."""
    requests = tuple(
        decision.request if each.request_id == decision.request.request_id else each for each in payable.requests
    )
    return replace(payable, link=decision.link or payable.link, requests=requests)


def move_to_block(transfer: LoggedTransfer, recorded: R) -> R:
    """A payment or an unmatched transfer in the block of `transfer`."""
    return replace(
        recorded,
        block_hash=transfer.block_hash,
        block_number=transfer.block_number,
        log_index=transfer.log_index,
        paid_at=transfer.paid_at,
    )


def record(
    payable: Payable,
    request: Request,
    known: Payment | None,
    transfer: LoggedTransfer,
    valuation: Valuation,
    context: EventContext,
) -> Decision | None:
    """What a matching transfer changes; None if it is recorded already. `known` is the stored payment of the transfer.

    A late payment completes an expired link, with events, because the payee has the money. A payment of a paid or
    cancelled request is announced by `payment.unexpected` alone: a second `payment.confirmed` could make the merchant
    ship twice, and anybody could cause it with dust. A payment that a fork removed is confirmed again when its
    transaction is back in a block; if it is confirmed and now in another block, only its block changes.
    """
    new = _payment_of(payable, request, transfer, valuation, context.now)
    if known is not None and known.status is PaymentStatus.CONFIRMED:
        moved = move_to_block(transfer, known)
        return None if moved == known else Decision(moved, request)
    was_closed = request.is_closed
    settled = _add_received(_with_amount(request, request.paid + new.value), new.amount)
    if known is None and not _is_listed(request, settled, new):
        return Decision(
            None,
            replace(
                settled,
                dust_count=request.dust_count + 1,
                dust_amount=BaseUnits(request.dust_amount + new.value),
            ),
            complete(payable, settled, context.now),
        )
    settled = _with_confirmed(settled, 1)
    if known is None:
        settled = replace(settled, payment_count=request.payment_count + 1)
    excess = BaseUnits(max(settled.paid - request.due, 0) - max(request.paid - request.due, 0))
    payment = replace(new, version=known.version if known else 0, is_announced=not was_closed, excess=excess)
    if excess and excess * NOTICED >= request.amount:
        settled = replace(settled, surplus_hash=payment.tx_hash)
    if was_closed:
        settled, payment, events = notices.notify_payment(payable, settled, payment, context)
        return Decision(payment, settled, events=events)
    settled = replace(settled, tx_hash=payment.tx_hash)
    link = complete(payable, settled, context.now)
    return Decision(payment, settled, link, _events_of_payment(payable, settled, payment, context))


def reverse(
    payable: Payable,
    request: Request,
    known: Payment,
    others: Iterable[Payment],
    context: EventContext,
) -> Decision | None:
    """What changes when a payment is no longer on the chain; None if it was reversed already.

    `others` are the listed payments of the request. With `payment.failed` if the payment was announced, or if the
    request was paid and is not any more. If the request is paid all the same, by payments that were not announced, the
    newest of them is announced now.
    """
    if known.status is PaymentStatus.REVERSED:
        return None
    reversed_payment = replace(known, status=PaymentStatus.REVERSED)
    rest = [each for each in others if each.status is PaymentStatus.CONFIRMED and each.key != known.key]
    newest = max(rest, key=lambda each: (each.block_number, each.log_index), default=None)
    settled = _with_confirmed(_with_amount(request, request.paid - known.value), -1)
    settled = _add_received(settled, -known.amount)
    settled = _reopen_request(
        payable.link, request, replace(settled, tx_hash=newest.tx_hash if newest else None), context.now
    )
    link = _reopen_link(payable, settled)
    corrected = notices.correction_events(payable, settled, reversed_payment, context)
    reversed_payment = replace(reversed_payment, is_unexpected=False)
    if not known.is_announced and not _is_unpaid_by(request, settled):
        return Decision(reversed_payment, settled, link, corrected)
    events = [removed_event(settled, reversed_payment, context), *corrected]
    announced = None
    if settled.status is RequestStatus.PAID and newest is not None and not newest.is_announced:
        announced = replace(newest, is_announced=True)
        events += _events_of_payment(payable, settled, announced, context)
    return Decision(reversed_payment, settled, link, tuple(events), announced)


def subtract(payable: Payable, request: Request, removed: LoggedTransfer, context: EventContext) -> Decision:
    """What changes when a payment that was only added up as dust is no longer on the chain.

    With `payment.failed` if the request was paid and is not any more, because the merchant was notified that it is
    paid.
    """
    payment = _payment_of(payable, request, removed, Valuation.dust(removed), context.now)
    settled = replace(
        _add_received(_with_amount(request, request.paid - payment.value), -removed.amount),
        dust_count=request.dust_count - 1,
        dust_amount=BaseUnits(request.dust_amount - payment.value),
    )
    settled = _reopen_request(payable.link, request, settled, context.now)
    link = _reopen_link(payable, settled)
    if not _is_unpaid_by(request, settled):
        return Decision(None, settled, link)
    return Decision(None, settled, link, (removed_event(settled, payment, context),))


def _events_of_payment(
    payable: Payable, settled: Request, payment: Payment, context: EventContext
) -> tuple[Event, ...]:
    """The event of a payment; none if an off-ramp order follows it, which announces a request that is paid."""
    if payable.order is not None and settled.status is RequestStatus.PAID:
        return ()
    return (payment_event(payable, settled, payment, context),)


def _is_unpaid_by(before: Request, after: Request) -> bool:
    """Whether a removal makes a paid request unpaid."""
    return before.status is RequestStatus.PAID and after.status is not RequestStatus.PAID


def _reopen_request(link: Link | None, before: Request, after: Request, now: datetime) -> Request:
    """The request after a removal. If it was the paid period of a recurring payout, that has to follow; if its link was
    cancelled when it was paid, it is cancelled, too."""
    if link is not None and link.status is LinkStatus.CANCELLED and _is_unpaid_by(before, after):
        return replace(after.as_cancelled(), cancelled_at=link.cancelled_at)
    if after.recurring_payment_id is None or not _is_unpaid_by(before, after):
        return after
    return replace(after, unpaid_at=now)


def new_line(
    kind: type[P], payable: Payable, request: Request, transfer: LoggedTransfer, valuation: Valuation, now: datetime
) -> P:
    """A transfer of a request as a record among the payments of its account."""
    return make_from(
        kind,
        transfer,
        request_id=request.request_id,
        status=PaymentStatus.CONFIRMED,
        detected_at=now,
        paid_at=transfer.paid_at,
        payer=_payer(request, transfer),
        type=valuation.type,
        rate=valuation.rate,
        value=valuation.value,
        dollar_rate=valuation.dollar_rate,
        account_id=request.account_id,
        client_id=request.client_id,
        payee=request.payee,
        currency=request.currency,
        invoice_currency=request.invoice_currency or request.currency,
        payment_reference=request.payment_reference,
        reference=payable.reference_of(request),
        recurring_payment_id=request.recurring_payment_id,
        is_payout=payable.is_payout(request),
        stated_amount=transfer.stated_amount,
    )


def _payer(request: Request, transfer: LoggedTransfer) -> str | None:
    """Who paid; None of a payment from the request's own address for plain transfers, which is not the payer's."""
    own, payer = request.plain_transfer, transfer.payer
    return None if own is not None and payer is not None and same_address(payer, own.address) else payer


def _payment_of(
    payable: Payable, request: Request, transfer: LoggedTransfer, valuation: Valuation, now: datetime
) -> Payment:
    origin = Origin(transfer.bridged_from) if transfer.bridged_from is not None else None
    line = new_line(Payment, payable, request, transfer, valuation, now)
    return replace(line, type=_kind_of(request, transfer, valuation), origin=origin)


def _kind_of(request: Request, transfer: LoggedTransfer, valuation: Valuation) -> PaymentKind:
    if request.recurring_payment_id:
        return PaymentKind.RECURRING
    return PaymentKind.CROSSCHAIN if transfer.bridged_from is not None else valuation.type


def _is_listed(before: Request, after: Request, payment: Payment) -> bool:
    """Whether a new payment is listed and announced, and not only added up as dust. What is worth nothing never is."""
    if before.status is not RequestStatus.PAID and after.status is RequestStatus.PAID:
        return True
    if not payment.value:
        return False
    is_small = payment.value * SMALL_PART < before.amount
    return before.payment_count < (MAX_SMALL_PAYMENTS if is_small else MAX_PAYMENTS)


def _with_confirmed(request: Request, change: int) -> Request:
    return replace(request, confirmed_count=request.confirmed_count + change)


def _add_received(request: Request, amount: int) -> Request:
    """The request after its payments moved so many base units more, or less."""
    return replace(request, received=BaseUnits(request.received + amount))


def _with_amount(request: Request, paid: int) -> Request:
    if request.is_cancelled:
        status = RequestStatus.CANCELLED
    elif paid >= request.due:
        status = RequestStatus.PAID
    else:
        status = RequestStatus.PARTIALLY_PAID if paid else RequestStatus.CREATED
    return replace(request, paid=BaseUnits(paid), status=status)


def complete(payable: Payable, settled: Request, now: datetime) -> Link | None:
    """The link as completed if this was its last unpaid request; None if no link's status changes."""
    if payable.link is None or payable.link.status is LinkStatus.COMPLETED:
        return None
    others = (r for r in payable.requests if r.request_id != settled.request_id)
    if any(r.status is not RequestStatus.PAID for r in (*others, settled)):
        return None
    return replace(payable.link, status=LinkStatus.COMPLETED, completed_at=now)


def _reopen_link(payable: Payable, settled: Request) -> Link | None:
    """The link as pending again if the request of a completed link is no longer paid; None if nothing changes."""
    if payable.link is None or payable.link.status is not LinkStatus.COMPLETED or settled.status is RequestStatus.PAID:
        return None
    return replace(payable.link, status=LinkStatus.PENDING, completed_at=None)


def differing_totals(request: Request, listed: Sequence[Payment]) -> bool:
    """Whether the totals of a request are not those of its listed payments and of what was only added up as dust."""
    counting = select_confirmed(listed)
    paid = sum(each.value for each in counting) + request.dust_amount
    numbers = (request.payment_count, request.confirmed_count)
    return request.paid != paid or numbers != (len(listed), len(counting))


def select_confirmed(payments: Iterable[Payment]) -> list[Payment]:
    """The payments that are on the chain."""
    return [each for each in payments if each.status is PaymentStatus.CONFIRMED]
