"""What may be done with a commerce payment: its status, which operations are refused, and how one begins and ends.

    nothing ── authorize ──> held ── capture ──> with the merchant ── refund ──> with the payer
       └────── charge ─────────────────────────────────^
                              held ── void (operator) or reclaim (payer, after the expiry) ──> with the payer

An operation that the service executes has two phases. It is reserved: `pending` is set, and nothing else begins. Then
the event of the escrow posts it (ledger.py), or it goes back with the reason. Only events change the totals.

Until when is decided in expiry.py.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from chalicelib.base.addresses import same_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.commerce.core.expiry import has_ended, is_too_late
from chalicelib.commerce.core.records import Collector, CommercePayment, OperationKind, PendingOperation

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed

BASIS = 10_000
"""All of an amount in the unit of fees: 1 is 0.01 %."""


class CommerceStatus(StrEnum):
    """The status of the interface."""

    PENDING = "PENDING"
    """Nothing was taken from the payer."""
    AUTHORIZING = "AUTHORIZING"
    AUTHORIZED = "AUTHORIZED"
    """The escrow holds money; some may be captured."""
    CAPTURING = "CAPTURING"
    PAID = "PAID"
    """Nothing is held any more, and something was captured."""
    VOIDING = "VOIDING"
    VOIDED = "VOIDED"
    REFUNDING = "REFUNDING"
    REFUNDED = "REFUNDED"
    PARTIALLY_REFUNDED = "PARTIALLY_REFUNDED"
    EXPIRED = "EXPIRED"
    """The escrow holds money that can be captured no more, or took none in time."""
    RECLAIMED = "RECLAIMED"
    FAILED = "FAILED"
    """The escrow took no money in time, and the last attempt failed."""


class CommerceState(StrEnum):
    """Where the money is, in the words of the specification's states."""

    AUTHORIZED = "Authorized"
    CAPTURED = "Captured"
    VOIDED = "Voided"
    REFUNDED = "Refunded"


WHILE = {
    OperationKind.AUTHORIZE: CommerceStatus.AUTHORIZING,
    OperationKind.CHARGE: CommerceStatus.CAPTURING,
    OperationKind.CAPTURE: CommerceStatus.CAPTURING,
    OperationKind.VOID: CommerceStatus.VOIDING,
    OperationKind.REFUND: CommerceStatus.REFUNDING,
}
"""The status while an operation is pending."""


@frozen
class Operation:
    """What is asked for. `amount` (base units) is None for all there is: the amount of the payment, what is held, or
    what can be refunded; a void takes no other. `payer` and `signature` (hex) are for authorize and charge."""

    kind: OperationKind
    amount: BaseUnits | None = None
    fee_bps: int = 0
    fee_receiver: str | None = None
    payer: str | None = None
    collector: Collector = Collector.PRE_APPROVAL
    signature: str | None = None
    reason: str | None = None


@frozen
class Refusal:
    """Why an operation is refused. `is_invalid`: what was sent can never be done (400); otherwise the payment is not in
    the state for it now (409). `field` names the part of the operation that is wrong."""

    message: str
    is_invalid: bool = False
    field: str | None = None


def status_of(payment: CommercePayment, read_until: "Agreed[datetime] | None") -> CommerceStatus:
    """`read_until` is the instant up to which the blocks of its network were read and recorded; None if that is not
    known. Nothing expires before it."""
    if payment.pending is not None:
        return WHILE[payment.pending.kind]
    if payment.capturable:
        return CommerceStatus.EXPIRED if has_ended(payment, read_until) else CommerceStatus.AUTHORIZED
    if payment.captured:
        if not payment.refunded:
            return CommerceStatus.PAID
        return CommerceStatus.PARTIALLY_REFUNDED if payment.refundable else CommerceStatus.REFUNDED
    if payment.is_collected:
        return CommerceStatus.RECLAIMED if payment.reclaimed else CommerceStatus.VOIDED
    if not has_ended(payment, read_until):
        return CommerceStatus.PENDING
    return CommerceStatus.EXPIRED if payment.failure is None else CommerceStatus.FAILED


def state_of(payment: CommercePayment) -> CommerceState | None:
    """Where the money is by the events of the escrow; None before it took any. A pending operation changes nothing.

    Voided is also what the payer has reclaimed; Refunded is a payment of which everything captured went back.
    """
    if not payment.is_collected:
        return None
    if payment.capturable:
        return CommerceState.AUTHORIZED
    if not payment.captured:
        return CommerceState.VOIDED
    return CommerceState.CAPTURED if payment.refundable else CommerceState.REFUNDED


def can_capture(payment: CommercePayment, now: datetime) -> bool:
    return payment.pending is None and payment.capturable > 0 and not is_too_late(payment, OperationKind.CAPTURE, now)


def can_void(payment: CommercePayment) -> bool:
    return payment.pending is None and payment.capturable > 0


def can_refund(payment: CommercePayment, now: datetime) -> bool:
    return payment.pending is None and payment.refundable > 0 and not is_too_late(payment, OperationKind.REFUND, now)


def fee_on(amount: int, fee_bps: int) -> BaseUnits:
    """The part of a captured amount that is its fee, rounded down as the contract does."""
    return BaseUnits(amount * fee_bps // BASIS)


def fee_receiver_of(payment: CommercePayment, operation: Operation) -> str | None:
    """Who receives the fee of a capture or charge: the receiver of the terms, whom the contract demands even without a
    fee, else the one that is asked for."""
    return payment.fee_receiver or operation.fee_receiver


def amount_of(payment: CommercePayment, operation: Operation) -> BaseUnits:
    """The amount of an operation, in base units."""
    if operation.kind is OperationKind.VOID:
        return payment.capturable
    if operation.amount is not None:
        return operation.amount
    if operation.kind in (OperationKind.AUTHORIZE, OperationKind.CHARGE):
        return payment.amount
    return payment.capturable if operation.kind is OperationKind.CAPTURE else payment.refundable


def refusal(payment: CommercePayment, operation: Operation, now: datetime) -> Refusal | None:
    """Why the contract would refuse an operation of the operator; None if it would not. Does not look at `pending`."""
    if operation.kind in (OperationKind.AUTHORIZE, OperationKind.CHARGE):
        return _collecting(payment, operation, now) or _fee(payment, operation)
    if operation.kind is OperationKind.CAPTURE:
        return _capturing(payment, operation, now) or _fee(payment, operation)
    if operation.kind is OperationKind.VOID:
        return None if payment.capturable else Refusal("Nothing is held that could be voided.")
    return _refunding(payment, operation, now)


def reserve(payment: CommercePayment, operation: Operation, now: datetime) -> PendingOperation | Refusal:
    """The operation as `begin_operation` makes it pending; the one that is pending if it is the same; or a refusal."""
    if payment.pending is not None:
        if is_same(payment, payment.pending, operation):
            return payment.pending
        return Refusal(f"Another operation of the payment is pending: {payment.pending.kind}. Wait for its end.")
    refused = refusal(payment, operation, now)
    if refused is not None:
        return refused
    takes_fee = operation.kind in (OperationKind.CHARGE, OperationKind.CAPTURE)
    return PendingOperation(
        number=payment.operations + 1,
        kind=operation.kind,
        amount=amount_of(payment, operation),
        submitted_at=now,
        fee_bps=operation.fee_bps if takes_fee else 0,
        fee_receiver=fee_receiver_of(payment, operation) if takes_fee else None,
        payer=payment.payer or operation.payer,
        collector=operation.collector,
        signature=operation.signature,
        reason=operation.reason,
    )


def is_same(payment: CommercePayment, pending: PendingOperation, operation: Operation) -> bool:
    """Whether an operation that is asked for is the one that is pending."""
    if pending.kind is not operation.kind:
        return False
    if operation.payer is not None and not same_address(operation.payer, pending.payer or ""):
        return False
    if (operation.collector, operation.signature) != (pending.collector, pending.signature):
        return False
    is_amount = operation.kind is OperationKind.VOID or pending.amount == amount_of(payment, operation)
    if operation.kind in (OperationKind.CHARGE, OperationKind.CAPTURE):
        is_fee = (pending.fee_bps, pending.fee_receiver) == (operation.fee_bps, fee_receiver_of(payment, operation))
        return is_amount and is_fee
    return is_amount


def begin_operation(payment: CommercePayment, pending: PendingOperation, now: datetime) -> CommercePayment:
    """The payment with an operation that was reserved, or with its next step. It is looked at next at once."""
    operations = max(payment.operations, pending.number)
    begun = replace(payment, pending=pending, operations=operations, changed_at=now, check_at=now)
    return replace(begun, failure=None, failed_payer=None)


def unfinished_operations(payment: CommercePayment) -> tuple[PendingOperation, ...]:
    """The pending operation and those that wait for it, in the order of their numbers."""
    return () if payment.pending is None else (payment.pending, *payment.waiting)


def with_unfinished(payment: CommercePayment, operations: Iterable[PendingOperation]) -> CommercePayment:
    """The payment with these unfinished operations, of which the first is pending."""
    ordered = sorted(operations, key=lambda each: each.number)
    return replace(payment, pending=ordered[0] if ordered else None, waiting=tuple(ordered[1:]))


def take_back_operation(payment: CommercePayment, reason: str, now: datetime) -> CommercePayment:
    """The payment after its pending operation reverted or was dropped: nothing has moved.

    A wallet whose money could not be taken is the last to be tried again: a stranger can pre-approve without any.
    """
    assert payment.pending is not None, "only a pending operation goes back"
    payer, approved = payment.pending.payer, payment.pre_approved_by
    if payer in approved:
        approved = (payer, *(each for each in approved if each != payer))
    rest = replace(with_unfinished(payment, payment.waiting), failure=reason, failed_payer=payer)
    return replace(rest, pre_approved_by=approved, changed_at=now, check_at=now)


def _collecting(payment: CommercePayment, operation: Operation, now: datetime) -> Refusal | None:
    if payment.is_collected:
        return Refusal("The payment was authorized before: the escrow takes its money once.")
    if is_too_late(payment, operation.kind, now):
        return Refusal("The time to authorize the payment is over: create a new one.")
    if not 0 < amount_of(payment, operation) <= payment.max_amount:
        return Refusal(f"must be from 1 to the largest amount of the payment, {payment.max_amount}", True, "amount")
    if payment.payer is None and operation.payer is None:
        return Refusal("is missing: nobody has approved the payment yet, so name the wallet that pays", True, "payer")
    if payment.payer is not None and operation.payer is not None and not same_address(payment.payer, operation.payer):
        return Refusal("is another wallet than the payment's", True, "payer")
    return None


def _capturing(payment: CommercePayment, operation: Operation, now: datetime) -> Refusal | None:
    if not payment.capturable:
        return Refusal("Nothing is held that could be captured.")
    if is_too_late(payment, operation.kind, now):
        return Refusal("The authorization has expired: what is held can only be voided, or reclaimed by the payer.")
    if not 0 < amount_of(payment, operation) <= payment.capturable:
        return Refusal(f"must be from 1 to what is held, {payment.capturable}", True, "captureAmount")
    return None


def _refunding(payment: CommercePayment, operation: Operation, now: datetime) -> Refusal | None:
    if not payment.refundable:
        return Refusal("Nothing was captured that could be refunded.")
    if is_too_late(payment, operation.kind, now):
        return Refusal("The time to refund the payment through the escrow is over: send the money to the payer.")
    if not 0 < amount_of(payment, operation) <= payment.refundable:
        return Refusal(f"must be from 1 to what was captured and not refunded, {payment.refundable}", True, "amount")
    return None


def _fee(payment: CommercePayment, operation: Operation) -> Refusal | None:
    if operation.kind is OperationKind.AUTHORIZE:
        return None
    if not payment.min_fee_bps <= operation.fee_bps <= payment.max_fee_bps:
        bounds = f"from {payment.min_fee_bps} to {payment.max_fee_bps}"
        return Refusal(f"must be {bounds}, which the payer has agreed to", True, "feeBps")
    if operation.fee_bps and fee_receiver_of(payment, operation) is None:
        return Refusal("is missing: say who receives the fee", True, "feeReceiver")
    named = operation.fee_receiver
    if payment.fee_receiver is not None and named is not None and not same_address(named, payment.fee_receiver):
        return Refusal(f"must be {payment.fee_receiver}, which the payer has agreed to", True, "feeReceiver")
    return None
