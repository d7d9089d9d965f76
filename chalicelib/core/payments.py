"""Payments: which transfers count for a request, and what one more (or one less) of them changes.

Totals are always the sum over the payments that stand, never an increment, so that a repeated or a
reversed payment cannot drift.
"""

from dataclasses import dataclass, replace

from chalicelib.core.addresses import same_address
from chalicelib.core.chainlog import ProxyTransfer
from chalicelib.core.events import Event, EventContext, failed_events, payment_events
from chalicelib.core.links import (
    Link,
    LinkStatus,
    Payment,
    PaymentStatus,
    Place,
    Request,
    RequestStatus,
    SecurePayment,
)
from chalicelib.core.money import BaseUnits
from chalicelib.core.tokens import token_with_id


@dataclass(frozen=True)
class Decision:
    """What to write in one transaction: the payment, the request, the link where it changes, and the events."""

    payment: Payment
    request: Request
    link: Link | None
    events: tuple[Event, ...]


def mismatch(request: Request, transfer: ProxyTransfer) -> str | None:
    """Why a transfer with the request's reference does not count for it; None when it does.

    Reference and proxy are the caller's and the decoder's part; anyone can reuse a public reference, so network,
    token and payee must be the request's own, too.
    """
    token = token_with_id(request.currency)
    if token is None or transfer.network != request.network:
        return "wrong_network"
    if transfer.amount == 0:
        return "zero_amount"  # costs its sender nothing but gas, so it must lead to nothing
    expected = None if token.is_native else token.address
    if (transfer.token_address is None) != (expected is None):
        return "wrong_token"
    if expected is not None and not same_address(expected, transfer.token_address or ""):
        return "wrong_token"
    return None if same_address(request.payee, transfer.payee) else "wrong_payee"


def record(
    secure_payment: SecurePayment,
    request: Request,
    earlier: tuple[Payment, ...],
    transfer: ProxyTransfer,
    context: EventContext,
) -> Decision | None:
    """What a matching transfer changes; None when it is recorded already.

    A late payment completes an expired link: the money has arrived, and the merchant must hear of it. What arrives
    after completion is recorded in silence: a second `payment.confirmed` could ship goods twice, and anyone could
    cause it with a speck of dust. A payment that a fork had removed and another one brought back stands again.
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
    )
    known = next((p for p in earlier if p.place == seen.place), seen)
    if known is not seen and known.status is PaymentStatus.CONFIRMED:
        return None
    payment = replace(known, status=PaymentStatus.CONFIRMED)
    others = tuple(p for p in earlier if p.place != seen.place)
    if request.status is RequestStatus.PAID:
        settled = _settle(request, (*others, payment), request.tx_hash)
        return Decision(payment, settled, None, ())
    settled = _settle(request, (*others, payment), payment.tx_hash)
    link = _complete(secure_payment, settled)
    return Decision(payment, settled, link, payment_events(secure_payment.link, settled, payment, context))


def reverse(
    secure_payment: SecurePayment,
    request: Request,
    recorded: tuple[Payment, ...],
    orphan: Place,
    context: EventContext,
) -> Decision | None:
    """What changes when a confirmed payment is no longer on the chain; None when that was decided already.

    The merchant is told by `payment.failed`: a confirmed payment never vanishes in silence.
    """
    current = next((p for p in recorded if p.place == orphan), None)
    if current is None or current.status is PaymentStatus.REVERSED:
        return None
    reversed_payment = replace(current, status=PaymentStatus.REVERSED)
    others = tuple(p for p in recorded if p.place != orphan)
    last = max(_standing(others), key=lambda p: p.block_number, default=None)
    settled = _settle(request, others, last.tx_hash if last else None)
    reopened = secure_payment.link.status is LinkStatus.COMPLETED and settled.status is not RequestStatus.PAID
    link = replace(secure_payment.link, status=LinkStatus.PENDING) if reopened else None
    events = failed_events(secure_payment.link, settled, reversed_payment, context)
    return Decision(reversed_payment, settled, link, events)


def _settle(request: Request, payments: tuple[Payment, ...], tx_hash: str | None) -> Request:
    paid = BaseUnits(sum(p.amount for p in _standing(payments)))
    if paid >= request.amount:
        status = RequestStatus.PAID
    else:
        status = RequestStatus.PARTIALLY_PAID if paid else RequestStatus.CREATED
    return replace(request, paid=paid, status=status, tx_hash=tx_hash)


def _complete(secure_payment: SecurePayment, settled: Request) -> Link | None:
    """The link as completed when this request was the last one open; None when its status stays."""
    if secure_payment.link.status is LinkStatus.COMPLETED:
        return None
    requests = [settled if r.position == settled.position else r for r in secure_payment.requests]
    if any(r.status is not RequestStatus.PAID for r in requests):
        return None
    return replace(secure_payment.link, status=LinkStatus.COMPLETED)


def _standing(payments: tuple[Payment, ...]) -> list[Payment]:
    return [p for p in payments if p.status is PaymentStatus.CONFIRMED]

