"""Payments: which transfers count for a request, and what a new or a reversed payment changes.

Totals are always recomputed as the sum of the confirmed payments, never incremented, so that repeated or reversed
payments cannot make them drift.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from chalicelib.base.addresses import hex_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.chain.logs import ProxyTransfer
from chalicelib.detection.events import failed_events, payment_events
from chalicelib.links.records import Link, LinkStatus, SecurePayment
from chalicelib.requests.records import LogPosition, Payment, PaymentStatus, Request, RequestStatus
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

MAX_ANNOUNCED_PAYMENTS = 100
"""The number of payments of a request that cause events: anybody can send dust, and each payment causes up to three
events. Later payments are recorded without events, except the one that completes the request."""


@frozen
class Decision:
    """What one payment changes: the payment, its request, the link (if its status changes), and the events to send."""

    payment: Payment
    request: Request
    link: Link | None
    events: tuple[Event, ...]


def mismatch(request: Request, transfer: ProxyTransfer) -> str | None:
    """Why a transfer with the request's reference does not count for it; None if it counts.

    The decoder has checked the proxy, the caller the reference. Anybody can reuse a public reference, so network, token
    and payee must be the request's, too.
    """
    if transfer.amount == 0:
        return "zero_amount"  # costs its sender only gas, so it must have no effect
    token = token_with_id(request.currency)
    if token is None or transfer.network != request.network:
        return "wrong_network"
    if transfer.token_address != (None if token.is_native else hex_address(token.address)):
        return "wrong_token"
    return None if transfer.payee == hex_address(request.payee) else "wrong_payee"


def must_write_link(secure_payment: SecurePayment) -> bool:
    """Whether every payment also writes the link, so that its transaction conflicts with the link's others.

    The payment that completes the last of several requests completes the link. Without the conflict, two payments
    recorded concurrently could each see the other's request as unpaid.
    """
    return len(secure_payment.requests) > 1


def apply(secure_payment: SecurePayment, decision: Decision) -> SecurePayment:
    """The link with a decision applied, as the input for the next payment of the same transaction."""
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
    """What a matching transfer changes; None if it is recorded already.

    A late payment completes an expired link, with events, because the payee has the money. A payment of a paid request
    is recorded without events: a second `payment.confirmed` could make the merchant ship twice, and anybody could cause
    it with dust. So is dust beyond MAX_ANNOUNCED_PAYMENTS. A payment that one fork removed and another one restored is
    confirmed again.
    """
    new = _payment_of(request, transfer, context.now)
    known = earlier.get(new.log_position)
    if known is not None and known.status is PaymentStatus.CONFIRMED:
        return None
    payment = replace(known or new, status=PaymentStatus.CONFIRMED)
    confirmed = [*_confirmed(earlier.values()), payment]
    if request.status is RequestStatus.PAID:
        return Decision(payment, _settle(request, confirmed, request.tx_hash), None, ())
    settled = _settle(request, confirmed, payment.tx_hash)
    if settled.status is not RequestStatus.PAID and len(earlier) >= MAX_ANNOUNCED_PAYMENTS:
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
    """What changes when a confirmed payment is no longer on the chain; None if it was reversed already.

    Always with a `payment.failed` event.
    """
    current = recorded.get(orphan)
    if current is None or current.status is PaymentStatus.REVERSED:
        return None
    reversed_payment = replace(current, status=PaymentStatus.REVERSED)
    others = [p for p in _confirmed(recorded.values()) if p.log_position != orphan]
    last = max(others, key=lambda p: p.block_number, default=None)
    settled = _settle(request, others, last.tx_hash if last else None)
    reopened = secure_payment.link.status is LinkStatus.COMPLETED and settled.status is not RequestStatus.PAID
    pending = replace(secure_payment.link, status=LinkStatus.PENDING, completed_at=None)
    link = pending if reopened else None
    events = failed_events(secure_payment.link, settled, reversed_payment, context)
    return Decision(reversed_payment, settled, link, events)


def _payment_of(request: Request, transfer: ProxyTransfer, now: datetime) -> Payment:
    return Payment(
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
        detected_at=now,
        paid_at=transfer.paid_at,
    )


def _settle(request: Request, confirmed: Iterable[Payment], tx_hash: str | None) -> Request:
    paid = BaseUnits(sum(p.amount for p in confirmed))
    if paid >= request.amount:
        status = RequestStatus.PAID
    else:
        status = RequestStatus.PARTIALLY_PAID if paid else RequestStatus.CREATED
    return replace(request, paid=paid, status=status, tx_hash=tx_hash)


def _complete(secure_payment: SecurePayment, settled: Request, now: datetime) -> Link | None:
    """The link as completed if this was its last unpaid request; None if the link's status does not change."""
    if secure_payment.link.status is LinkStatus.COMPLETED:
        return None
    others = (r for r in secure_payment.requests if r.request_id != settled.request_id)
    if any(r.status is not RequestStatus.PAID for r in (*others, settled)):
        return None
    return replace(secure_payment.link, status=LinkStatus.COMPLETED, completed_at=now)


def _confirmed(payments: Iterable[Payment]) -> list[Payment]:
    return [p for p in payments if p.status is PaymentStatus.CONFIRMED]
