"""Events of the commerce escrow: what each changes for its payment and request, and what the merchant is notified.

    pre-approved          the wallet is remembered
    authorized            the request expects that amount, and the payer is the one of the event
    charged, captured     besides, a Payment of the request: its amount is what the merchant got, its value all of it
    voided, reclaimed     payment.failed, if nothing was captured and nothing is held any more; if something was, the
                          request expects just that, so that it is paid, and payment.confirmed tells it
    refunded              payment.refunded

An event that a fork removed is undone; payment.failed tells that a capture is gone, and that a request is not paid any
more because a void or reclaim is gone. The events of one payment may be recorded in any order
(commerce/core/ledger.py).
"""

from dataclasses import replace

from chalicelib.base.addresses import ZERO_ADDRESS, hex_address
from chalicelib.base.frozen import frozen, make_from
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.escrow.logs import ENDS, EscrowEventKind, LoggedEscrow
from chalicelib.commerce.core import ledger
from chalicelib.commerce.core.records import CommercePayment, EntryState, EscrowEntry
from chalicelib.commerce.core.rules import fee_on
from chalicelib.payments.events import Counted, failed_event
from chalicelib.payments.recording.events import refunded_event
from chalicelib.payments.recording.matching import expecting
from chalicelib.payments.requests.payments.records import Refund
from chalicelib.payments.requests.records import Reference, Request
from chalicelib.payments.scanning.records import LoggedTransfer
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

_CAPTURES = (EscrowEventKind.CHARGED, EscrowEventKind.CAPTURED)
EXPIRED = "expired"
"""The failureReason of an end without an event."""


@frozen
class Posting:
    """What an event changes: the payment, its entry, and the request, whose Payment is not recorded yet."""

    payment: CommercePayment
    entry: EscrowEntry
    request: Request
    events: tuple[Event, ...] = ()
    reference: Reference | None = None
    """What finds the payment by its hash, if it has to be kept from now on."""


def mismatch(payment: CommercePayment, logged: LoggedEscrow, reference: Reference | None) -> str | None:
    """Why an event is not one of this payment; None if it is. `reference` is what found it by its hash.

    Any wallet may pre-approve an open payment. The escrow takes the money of one: the first that it takes any of.
    """
    if logged.payment_hash == payment.payment_hash:
        return None
    if reference is None or reference.payer is None or reference.is_refund:
        return "unknown hash"
    if logged.payer is not None and logged.payer != hex_address(reference.payer):
        return "other payer than its hash has"
    is_free = payment.payer is None or logged.kind is EscrowEventKind.PRE_APPROVED
    return None if is_free else "paid by two wallets"


def post(
    payment: CommercePayment,
    request: Request,
    transfer: LoggedTransfer,
    known: EscrowEntry | None,
    reference: Reference | None,
    context: EventContext,
) -> Posting:
    """What an event of this payment changes. `known` is its entry, if a fork had removed it before."""
    entry = entry_of(payment, transfer, reference)
    entry, payer = replace(entry, version=known.version if known is not None else 0), entry.payer
    kept = None
    if entry.kind is not EscrowEventKind.PRE_APPROVED and payment.payment_hash is None:
        payment = replace(payment, payer=payer, payment_hash=transfer.reference_topic)
    if entry.kind is not EscrowEventKind.PRE_APPROVED and reference is not None and reference.expires_at is not None:
        kept = replace(reference, expires_at=None)
    posted, entry = ledger.post(payment, entry, context.now)
    expected = expecting(request, _amount_expected(posted))
    if entry.kind is EscrowEventKind.REFUNDED:
        return Posting(posted, entry, expected, (_refunded_event(posted, expected, entry, context),), kept)
    if entry.kind not in ENDS or posted.is_end_notified or posted.capturable or posted.captured:
        return Posting(posted, entry, expected, (), kept)
    notified = ended_event(posted, expected, entry.kind.value, context, entry.tx_hash)
    return Posting(replace(posted, is_end_notified=True), entry, expected, (notified,), kept)


def undo(payment: CommercePayment, request: Request, known: EscrowEntry, context: EventContext) -> Posting | None:
    """What changes when a fork has removed an event; None if it was undone already."""
    if known.state is EntryState.VOIDED:
        return None
    undone, entry = ledger.undo(payment, known, context.now)
    if known.kind in ENDS and undone.capturable:
        undone = replace(undone, is_end_notified=False)
    is_unpaid = not (undone.authorized or undone.captured or undone.voided or undone.reclaimed or undone.refunded)
    if is_unpaid and undone.buyer is None and known.kind is not EscrowEventKind.PRE_APPROVED:
        undone = replace(undone, payer=None, payment_hash=None)
    return Posting(undone, entry, expecting(request, _amount_expected(undone)))


def _amount_expected(payment: CommercePayment) -> BaseUnits:
    """What the request expects: what the escrow took, and once it holds no more, what was captured of that."""
    if payment.authorized and payment.captured and not payment.capturable:
        return payment.captured
    return payment.authorized or payment.amount


def move(known: EscrowEntry, successor: LoggedTransfer) -> tuple[EscrowEntry, EscrowEntry]:
    """The entry that does not count any more, and the one of the same event in its new block."""
    moved = replace(
        known,
        block_number=successor.block_number,
        block_hash=successor.block_hash,
        log_index=successor.log_index,
        at=successor.paid_at,
        version=0,
    )
    return replace(known, state=EntryState.VOIDED, operation=None), moved


def transfer_of_capture(payment: CommercePayment, transfer: LoggedTransfer) -> LoggedTransfer | None:
    """A capture or charge as the transfer to the merchant that it is; None for another event."""
    event, token = transfer.escrow, token_with_id(payment.currency)
    if event is None or token is None or event.kind not in _CAPTURES:
        return None
    fee = fee_on(event.amount, event.fee_bps)
    return replace(
        transfer,
        token_address=hex_address(token.address),
        payee=hex_address(payment.receiver),
        amount=BaseUnits(event.amount - fee),
        fee_amount=fee,
        fee_address=event.fee_receiver or ZERO_ADDRESS,
        payer=payment.payer,
        value=event.amount,
    )


def transfer_of_refund(payment: CommercePayment, transfer: LoggedTransfer) -> LoggedTransfer | None:
    """A refund as the transfer to the payer that it is; None for another event."""
    event, token = transfer.escrow, token_with_id(payment.currency)
    if event is None or token is None or event.kind is not EscrowEventKind.REFUNDED:
        return None
    return replace(
        transfer,
        token_address=hex_address(token.address),
        payee=payment.payer or event.payer or "",
        amount=event.amount,
        payer=payment.receiver,
    )


def expire_payment(
    payment: CommercePayment, request: Request, context: EventContext
) -> tuple[CommercePayment, Event | None]:
    """A payment that `has_expired`, with payment.failed unless something was captured or its end was announced
    before."""
    if payment.is_end_notified or payment.captured:
        return payment, None
    notified = replace(payment, is_end_notified=True, changed_at=context.now)
    return notified, ended_event(payment, request, EXPIRED, context)


def ended_event(
    payment: CommercePayment, request: Request, reason: str, context: EventContext, tx_hash: str | None = None
) -> Event:
    """payment.failed for a payment of which nothing will be captured; `tx_hash` is what ended it, if anything did."""
    return failed_event(request, reason, context, Counted(payment.authorized or payment.amount), tx_hash)


def _refunded_event(payment: CommercePayment, request: Request, entry: EscrowEntry, context: EventContext) -> Event:
    sent = make_from(
        Refund,
        payment,
        topic=payment.payment_hash or "",
        payer=payment.payer or "",
        offered_at=context.now,
        tx_hash=entry.tx_hash,
    )
    return refunded_event(request, sent, entry.amount, context)


def entry_of(payment: CommercePayment, transfer: LoggedTransfer, reference: Reference | None) -> EscrowEntry:
    """The entry of an event, before it is posted."""
    event, payer = transfer.escrow, payment.payer if reference is None or reference.payer is None else reference.payer
    assert event is not None, "only events of the escrow are posted"
    return make_from(
        EscrowEntry,
        transfer,
        request_id=payment.request_id,
        kind=event.kind,
        amount=event.amount,
        at=transfer.paid_at,
        fee_bps=event.fee_bps,
        fee_receiver=event.fee_receiver if event.fee_bps else None,
        payer=payer,
    )
