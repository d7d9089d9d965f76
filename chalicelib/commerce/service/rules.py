"""What callers ask of a commerce payment, as the operation of its ledger."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import NoReturn

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import Conflict, Forbidden
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.commerce.core.records import Collector, CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.core.rules import Operation, Refusal
from chalicelib.payments.requests.fields import parse_field, refused
from chalicelib.platform.access.modes import Mode

KEPT_AFTER = timedelta(days=7)
"""How long after the time to pay a wallet is over its entry is kept: blocks may be read late."""
SUBMITTED_WITHIN = timedelta(hours=1)
"""How long it is tried to submit an operation, such as while the service's account cannot pay for gas."""
TOO_LATE = "it could not be submitted in time, and nothing was sent"
DAILY = timedelta(days=1)
"""How often the books of an open payment are compared with the escrow's, if nothing happens."""
MIN_DELAY, RETRY_DELAY, MAX_DELAY = timedelta(seconds=5), timedelta(minutes=1), timedelta(hours=1)


@frozen
class Authorizing:
    """How a payer's tokens are taken, as sent: `payer` is needed if any wallet may pay and none is known yet."""

    payer: str | None = None
    method: str = Collector.PRE_APPROVAL.value
    signature: str | None = None
    amount: int | None = None


@frozen
class Capturing:
    """How much is captured, in base units, and the fee of it as sent; None: the payment's own bound."""

    amount: int
    fee_bps: int | None = None
    fee_receiver: str | None = None


def check_executes(payment: CommercePayment, kind: OperationKind) -> None:
    """Raises Conflict if the operator is not the service's own account."""
    if not payment.is_service_operator:
        raise Conflict(
            f"The operator of this payment is the wallet {payment.operator}, which the service cannot sign for: "
            f"send the transaction of /{kind.value}/calldata from it"
        )


def check_amount(mode: Mode, amount: str | None) -> None:
    """Raises Forbidden if a caller without a secret chooses how much is authorized, which is done once: a payer could
    have next to nothing taken, and the request would be paid by that."""
    if amount is not None and mode is Mode.CLIENT_ID:
        raise Forbidden("Send amount with an x-api-key: a client ID alone authorizes the amount of the payment")


def check_fee(mode: Mode, fee_bps: int | None, fee_receiver: str | None) -> None:
    """Raises Forbidden if a caller without a secret chooses the fee of a capture: a stranger could have it himself."""
    if (fee_bps is not None or fee_receiver is not None) and mode is Mode.CLIENT_ID:
        raise Forbidden(
            "Send feeBps and feeReceiver with an x-api-key: a client ID alone captures with the payment's least fee"
        )


def payer_of(payment: CommercePayment, sent: str | None) -> str:
    """The wallet whose tokens are taken. Raises Conflict or ValidationFailed if it is not known, or not the buyer."""
    wanted = parse_field(("payer",), evm_address, sent) if sent is not None else None
    known = payment.payer or payment.buyer
    if known is not None:
        if wanted is not None and not same_address(wanted, known):
            raise refused(("payer",), f"is not {known}, which pays: leave it out")
        return known
    if wanted is not None:
        if same_address(wanted, payment.receiver):
            raise refused(("payer",), "is the merchant: give the wallet that pays")
        return wanted
    if payment.pre_approved_by:
        return payment.pre_approved_by[-1]
    raise Conflict("No wallet has pre-approved this payment yet: give the payer, or wait for its pre-approval")


def known_payer(payment: CommercePayment) -> str:
    """Who has paid. Raises Conflict before that."""
    if payment.payer is None or not payment.is_collected:
        raise Conflict("Nothing was put into the escrow for this payment yet: it has to be authorized first")
    return payment.payer


def collecting(payment: CommercePayment, sent: Authorizing, fee: Capturing | None = None) -> Operation:
    """Taking the payer's tokens: with a fee it is a charge, which captures at once. Raises as `payer_of`."""
    amount = BaseUnits(sent.amount) if sent.amount is not None else None
    operation = Operation(
        OperationKind.AUTHORIZE,
        amount,
        payer=payer_of(payment, sent.payer),
        collector=Collector(sent.method),
        signature=_hex(sent.signature) if sent.signature is not None else None,
    )
    return operation if fee is None else _with_fee(payment, replace(operation, kind=OperationKind.CHARGE), fee)


def capturing(payment: CommercePayment, sent: Capturing) -> Operation:
    return _with_fee(payment, Operation(OperationKind.CAPTURE, BaseUnits(sent.amount)), sent)


def voiding(reason: str | None) -> Operation:
    return Operation(OperationKind.VOID, reason=reason)


def refunding(amount: int) -> Operation:
    return Operation(OperationKind.REFUND, BaseUnits(amount))


def _with_fee(payment: CommercePayment, operation: Operation, sent: Capturing) -> Operation:
    """Without a fee of its own, an operation has the least that the payment permits."""
    receiver = parse_field(("feeReceiver",), evm_address, sent.fee_receiver) if sent.fee_receiver is not None else None
    fee_bps = payment.min_fee_bps if sent.fee_bps is None else sent.fee_bps
    return replace(operation, fee_bps=fee_bps, fee_receiver=receiver)


def _hex(signature: str) -> str:
    return signature.removeprefix("0x").lower()


_FIELDS = {OperationKind.CAPTURE: "captureAmount", OperationKind.REFUND: "refundAmount"}


def raise_refusal(refusal: Refusal, kind: OperationKind) -> NoReturn:
    """Raises ValidationFailed for what can never be done, Conflict for what cannot be done in the present state."""
    if not refusal.is_invalid or refusal.field is None:
        raise Conflict(refusal.message)
    is_amount = refusal.field in ("amount", "captureAmount")
    raise refused((_FIELDS.get(kind, "amount") if is_amount else refusal.field,), refusal.message)


def most_returned(payment: CommercePayment) -> int:
    """What the merchant has received and not given back: a refund that the service executes takes no more from it."""
    return max(payment.captured - payment.fees - payment.refunded, 0)


def call_key(payment: CommercePayment, pending: PendingOperation, step: str) -> str:
    """The key of a call of the relayer, which accepts one call for ever."""
    return f"commerce/{payment.request_id}/{pending.number}/{step}"


def gives_up(payment: CommercePayment, pending: PendingOperation, now: datetime) -> bool:
    """Whether an operation that could not be submitted goes back: the escrow would refuse it, or it took too long."""
    ends = {
        OperationKind.AUTHORIZE: payment.pre_approval_expiry,
        OperationKind.CHARGE: payment.pre_approval_expiry,
        OperationKind.CAPTURE: payment.authorization_expiry,
        OperationKind.REFUND: payment.refund_expiry,
    }
    return now >= min(ends.get(pending.kind, now + DAILY), pending.submitted_at + SUBMITTED_WITHIN)


def next_look(payment: CommercePayment, now: datetime) -> datetime | None:
    """When a payment without a pending operation is looked at next; None once nothing of it can change any more.

    Expiries are looked at when they are over, what was pre-approved often, what is open once a day.
    """
    is_open = payment.capturable > 0 or not payment.is_collected
    refunds_until = payment.refund_expiry if payment.refundable else now
    ends = payment.authorization_expiry if payment.is_collected else payment.pre_approval_expiry
    if is_open and now < ends:
        return min(ends, now + _retry(payment, now) if may_collect(payment, now) else now + DAILY)
    if payment.capturable:
        return now + DAILY
    return now + DAILY if payment.is_collected and now < refunds_until else None


def is_over(payment: CommercePayment, now: datetime) -> bool:
    """Whether by the clock the time is over to take the money, or to capture what is held."""
    if payment.is_collected:
        return payment.capturable > 0 and now >= payment.authorization_expiry
    return now >= payment.pre_approval_expiry


def may_collect(payment: CommercePayment, now: datetime) -> bool:
    """Whether the service itself puts tokens into the escrow, as their payer has pre-approved them."""
    return (
        payment.is_service_operator
        and payment.collects_unasked
        and payment.pending is None
        and not payment.is_collected
        and bool(payment.pre_approved_by)
        and now < payment.pre_approval_expiry
    )


def postponed(payment: CommercePayment, now: datetime) -> CommercePayment:
    """The payment with the next look at its pending operation: the longer it takes, the later."""
    assert payment.pending is not None
    age = now - payment.pending.submitted_at
    return replace(payment, check_at=now + min(max(age / 10, MIN_DELAY), MAX_DELAY))


def _retry(payment: CommercePayment, now: datetime) -> timedelta:
    return min(max((now - payment.created_at) / 20, RETRY_DELAY), MAX_DELAY)
