"""Payments: which transfers count for a request, and what one more (or one less) of them changes.

Totals are always the sum over the payments that stand, never an increment, so that a repeated or a
reversed payment cannot drift.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from chalicelib.base.addresses import hex_address
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.chain.logs import ProxyTransfer
from chalicelib.detection.events import failed_events, payment_events
from chalicelib.links.records import Link, LinkStatus, SecurePayment
from chalicelib.requests.records import LogPosition, Payment, PaymentStatus, Request, RequestStatus
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

MAX_TOLD = 100
"""How many payments of a request the merchant is told of one by one: anybody can send specks of dust, and each would be
three events. Those after them are recorded in silence, but for the one that completes the request."""


@dataclass(frozen=True)
class Decision:
    """What one payment changes: itself, its request, the link where its status changes, and the events to tell."""

    payment: Payment
    request: Request
    link: Link | None
    events: tuple[Event, ...]


def mismatch(request: Request, transfer: ProxyTransfer) -> str | None:
    """Why a transfer with the request's reference does not count for it; None when it does.

    Reference and proxy are the caller's and the decoder's part; anyone can reuse a public reference, so network,
    token and payee must be the request's own, too.
    """
    if transfer.amount == 0:
        return "zero_amount"  # costs its sender nothing but gas, so it must lead to nothing
    token = token_with_id(request.currency)
    if token is None or transfer.network != request.network:
        return "wrong_network"
    if transfer.token_address != (None if token.is_native else hex_address(token.address)):
        return "wrong_token"
    return None if transfer.payee == hex_address(request.payee) else "wrong_payee"


def is_shared(secure_payment: SecurePayment) -> bool:
    """Whether every payment has to claim the link itself, by writing it, so that what it decides rests on all requests.

    The last of several requests completes the link: two that are paid at the same moment must see each other.
    """
    return len(secure_payment.requests) > 1


def after(secure_payment: SecurePayment, decision: Decision) -> SecurePayment:
    """The link as the next payment of the same transaction finds it."""
    requests = tuple(
        decision.request if each.request_id == decision.request.request_id else each
        for each in secure_payment.requests
    )
    return replace(secure_payment, link=decision.link or secure_payment.link, requests=requests)


def record(
    secure_payment: SecurePayment,
    request: Request,
    earlier: Mapping[LogPosition, Payment],
    transfer: ProxyTransfer,
    context: EventContext,
) -> Decision | None:
    """What a matching transfer changes; None when it is recorded already.

    A late payment completes an expired link: the money has arrived, and the merchant must hear of it. What arrives
    after completion is recorded in silence: a second `payment.confirmed` could ship goods twice, and anyone could
    cause it with a speck of dust; so is dust beyond MAX_TOLD. A payment that a fork had removed and another one brought
    back stands again.
    """
    seen = Payment(
        request_id=request.request_id,
        network=transfer.network,
        block_hash=transfer.block_hash,
        log_index=transfer.log_index,
        block_number=transfer.block_number,
        tx_hash=transfer.tx_hash,
        amount=transfer.amount,
        fee_amount=transfer.fee_amount,
        fee_address=transfer.fee_address,
        status=PaymentStatus.CONFIRMED,
        detected_at=context.now,
        paid_at=transfer.paid_at,
    )
    known = earlier.get(seen.log_position)
    if known is not None and known.status is PaymentStatus.CONFIRMED:
        return None
    payment = replace(known or seen, status=PaymentStatus.CONFIRMED)
    standing = [*_standing(earlier.values()), payment]
    if request.status is RequestStatus.PAID:
        return Decision(payment, _settle(request, standing, request.tx_hash), None, ())
    settled = _settle(request, standing, payment.tx_hash)
    if settled.status is not RequestStatus.PAID and len(earlier) >= MAX_TOLD:
        return Decision(payment, settled, None, ())
    link = _complete(secure_payment, settled, context.now)
    return Decision(payment, settled, link, payment_events(secure_payment.link, settled, payment, context))


def reverse(
    secure_payment: SecurePayment,
    request: Request,
    recorded: Mapping[LogPosition, Payment],
    orphan: LogPosition,
    context: EventContext,
) -> Decision | None:
    """What changes when a confirmed payment is no longer on the chain; None when that was decided already.

    The merchant gets `payment.failed`: a confirmed payment that is gone is always reported.
    """
    current = recorded.get(orphan)
    if current is None or current.status is PaymentStatus.REVERSED:
        return None
    reversed_payment = replace(current, status=PaymentStatus.REVERSED)
    others = [p for p in _standing(recorded.values()) if p.log_position != orphan]
    last = max(others, key=lambda p: p.block_number, default=None)
    settled = _settle(request, others, last.tx_hash if last else None)
    reopened = secure_payment.link.status is LinkStatus.COMPLETED and settled.status is not RequestStatus.PAID
    pending = replace(secure_payment.link, status=LinkStatus.PENDING, completed_at=None)
    link = pending if reopened else None
    events = failed_events(secure_payment.link, settled, reversed_payment, context)
    return Decision(reversed_payment, settled, link, events)


def _settle(request: Request, standing: Iterable[Payment], tx_hash: str | None) -> Request:
    paid = BaseUnits(sum(p.amount for p in standing))
    if paid >= request.amount:
        status = RequestStatus.PAID
    else:
        status = RequestStatus.PARTIALLY_PAID if paid else RequestStatus.CREATED
    return replace(request, paid=paid, status=status, tx_hash=tx_hash)


def _complete(secure_payment: SecurePayment, settled: Request, now: datetime) -> Link | None:
    """The link as completed when this request was the last one open; None when its status stays."""
    if secure_payment.link.status is LinkStatus.COMPLETED:
        return None
    others = (r for r in secure_payment.requests if r.request_id != settled.request_id)
    if any(r.status is not RequestStatus.PAID for r in (*others, settled)):
        return None
    return replace(secure_payment.link, status=LinkStatus.COMPLETED, completed_at=now)


def _standing(payments: Iterable[Payment]) -> list[Payment]:
    return [p for p in payments if p.status is PaymentStatus.CONFIRMED]
