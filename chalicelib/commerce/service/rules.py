"""What callers ask of a commerce payment, as the operation of its ledger."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NoReturn

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import Conflict, Forbidden
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.commerce.core.expiry import has_expired, is_too_late, last_moment, next_expiry
from chalicelib.commerce.core.records import Collector, CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.core.rules import Operation, Refusal
from chalicelib.commerce.service.operation_table import BY_KIND
from chalicelib.payments.requests.field_problems import parse_field, refuse_field
from chalicelib.platform.access.modes import Mode
from chalicelib.relayer.rules import SENT_BEFORE

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.recipients import OwnAddresses

SUBMITTED_WITHIN = timedelta(hours=1)
"""How long it is tried to submit an operation, such as while the service's account cannot pay for gas."""
REFUND_TAKES = timedelta(minutes=5)
"""For a refund before its expiry: one transaction takes the tokens, and after its confirmations another one refunds
them. Otherwise up to three would be paid for, and nothing be refunded."""
TOO_LATE = "it could not be submitted in time, and nothing was sent"
DAILY = timedelta(days=1)
"""How often the books of an open payment are compared with the escrow's, if nothing happens."""
MIN_DELAY, RETRY_DELAY, MAX_DELAY = timedelta(seconds=5), timedelta(minutes=1), timedelta(hours=1)


@frozen
class Asked:
    """What a caller asks for, as sent: an operation uses of it what it takes (operation_table.py).

    `amount` is in base units; None: all there is. `payer` is needed if any wallet may pay and none is known yet.
    Without a fee, it is the least that the payment permits.
    """

    amount: int | None = None
    payer: str | None = None
    method: str = Collector.PRE_APPROVAL.value
    signature: str | None = None
    fee_bps: int | None = None
    fee_receiver: str | None = None
    reason: str | None = None


def check_executes(payment: CommercePayment, kind: OperationKind) -> None:
    """Raises Conflict if the operator is not the service's own account."""
    if not payment.is_service_operator:
        raise Conflict(
            f"The operator of this payment is the wallet {payment.operator}, which the service cannot sign for: "
            f"send the transaction of /{kind.value}/calldata from it"
        )


def check_chosen(mode: Mode, kind: OperationKind, asked: Asked) -> None:
    """Raises Forbidden if a caller chooses what only the holder of an API key may.

    By a client id alone how much is authorized, which is done once: a payer could have next to nothing taken, and the
    request would be paid by that. By that or a session the fee of a capture, which goes to whom the capture names: a
    stranger, or a thief of the session, could have it all himself.
    """
    if mode is Mode.CLIENT_ID and BY_KIND[kind].takes_payer and asked.amount is not None:
        raise Forbidden("Send amount with an x-api-key: a client ID alone authorizes the amount of the payment")
    has_fee = asked.fee_bps is not None or asked.fee_receiver is not None
    if mode in (Mode.CLIENT_ID, Mode.SESSION) and has_fee:
        raise Forbidden(
            "Send feeBps and feeReceiver with an x-api-key: a client ID alone or a session captures with the "
            "payment's least fee"
        )


def names_fee_receiver(payment: CommercePayment, operation: Operation) -> bool:
    """Whether an operation takes a fee for somebody whom it names itself, as the payment fixes nobody."""
    return operation.fee_bps > 0 and operation.fee_receiver is not None and payment.fee_receiver is None


def payer_of(payment: CommercePayment, sent: str | None) -> str:
    """The wallet whose tokens are taken. Raises Conflict or ValidationFailed if it is not known, or not the buyer."""
    wanted = parse_field(("payer",), evm_address, sent) if sent is not None else None
    known = payment.payer or payment.buyer
    if known is not None:
        if wanted is not None and not same_address(wanted, known):
            raise refuse_field(("payer",), f"is not {known}, which pays: leave it out")
        return known
    if wanted is not None:
        if same_address(wanted, payment.receiver):
            raise refuse_field(("payer",), "is the merchant: give the wallet that pays")
        return wanted
    if payment.pre_approved_by:
        return payment.pre_approved_by[-1]
    raise Conflict("No wallet has pre-approved this payment yet: give the payer, or wait for its pre-approval")


def require_payer(payment: CommercePayment) -> str:
    """Who has paid. Raises Conflict before that."""
    if payment.payer is None or not payment.is_collected:
        raise Conflict("Nothing was put into the escrow for this payment yet: it has to be authorized first")
    return payment.payer


def operation_of(payment: CommercePayment, kind: OperationKind, asked: Asked, own: "OwnAddresses") -> Operation:
    """What is asked for as an operation of the ledger; `own` are addresses that receive nothing. Raises
    ValidationFailed for an address that is none, and as `payer_of` if it takes a payer's tokens."""
    takes = BY_KIND[kind]
    amount = BaseUnits(asked.amount) if asked.amount is not None else None
    operation = Operation(kind, amount, reason=asked.reason)
    if takes.takes_payer:
        operation = replace(
            operation,
            payer=payer_of(payment, asked.payer),
            collector=Collector(asked.method),
            signature=asked.signature.removeprefix("0x").lower() if asked.signature is not None else None,
        )
    if not takes.takes_fee:
        return operation
    from chalicelib.chains.catalogue.recipients import parse_recipient  # no worker takes a fee

    receiver = asked.fee_receiver
    if receiver is not None:
        receiver = parse_field(("feeReceiver",), lambda text: parse_recipient(text, "evm", own), receiver)
    fee_bps = payment.min_fee_bps if asked.fee_bps is None else asked.fee_bps
    return replace(operation, fee_bps=fee_bps, fee_receiver=receiver)


def raise_refusal(refusal: Refusal, kind: OperationKind) -> NoReturn:
    """Raises ValidationFailed for what can never be done, Conflict for what cannot be done in the present state."""
    if not refusal.is_invalid or refusal.field is None:
        raise Conflict(refusal.message)
    raise refuse_field((BY_KIND[kind].body_field if refusal.field == "amount" else refusal.field,), refusal.message)


def most_returned(payment: CommercePayment) -> int:
    """What the merchant has received and not given back: a refund that the service executes takes no more from it."""
    return max(payment.captured - payment.fees - payment.refunded, 0)


def call_key(payment: CommercePayment, pending: PendingOperation, step: str) -> str:
    """The key of a call of the relayer, which accepts one call for ever."""
    return f"commerce/{payment.request_id}/{pending.number}/{step}"


def gives_up(payment: CommercePayment, pending: PendingOperation, now: datetime) -> bool:
    """Whether an operation that could not be submitted goes back: the escrow would refuse it, or it took too long."""
    ends = last_moment(payment, pending.kind) or now + DAILY
    return now >= min(ends, pending.submitted_at + SUBMITTED_WITHIN) or takes_too_late(payment, pending.kind, now)


def takes_too_late(payment: CommercePayment, kind: OperationKind, now: datetime) -> bool:
    """Whether an operation takes tokens of a wallet, and its time may be over when its block comes."""
    last, needs = last_moment(payment, kind), time_needed(kind)
    return needs is not None and last is not None and now >= last - needs


def time_needed(kind: OperationKind) -> timedelta | None:
    """How long before its expiry an operation is begun that takes tokens of a wallet; None for one that takes none. A
    capture is tried until the last second, as what is not captured is lost to the merchant."""
    if kind is OperationKind.REFUND:
        return REFUND_TAKES
    return SENT_BEFORE if BY_KIND[kind].takes_payer else None


def next_look(payment: CommercePayment, now: datetime) -> datetime | None:
    """When a payment without a pending operation is looked at next; None once nothing of it can change any more.

    Expiries are looked at when they are over, what was pre-approved often, what is open once a day.
    """
    is_open = payment.capturable > 0 or not payment.is_collected
    if is_open and not has_expired(payment, now):
        return min(next_expiry(payment), now + _retry(payment, now) if may_collect(payment, now) else now + DAILY)
    if payment.capturable:
        return now + DAILY
    has_refunds = payment.is_collected and payment.refundable and not is_too_late(payment, OperationKind.REFUND, now)
    return now + DAILY if has_refunds else None


def may_collect(payment: CommercePayment, now: datetime) -> bool:
    """Whether the service itself puts tokens into the escrow, as their payer has pre-approved them."""
    return (
        payment.is_service_operator
        and payment.collects_unasked
        and payment.pending is None
        and not payment.is_collected
        and bool(payment.pre_approved_by)
        and not takes_too_late(payment, OperationKind.AUTHORIZE, now)
    )


def postpone_check(payment: CommercePayment, now: datetime) -> CommercePayment:
    """The payment with the next look at its pending operation: the longer it takes, the later."""
    assert payment.pending is not None
    age = now - payment.pending.submitted_at
    return replace(payment, check_at=now + min(max(age / 10, MIN_DELAY), MAX_DELAY))


def _retry(payment: CommercePayment, now: datetime) -> timedelta:
    return min(max((now - payment.created_at) / 20, RETRY_DELAY), MAX_DELAY)
