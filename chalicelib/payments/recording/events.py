"""What events tell of a payment besides what its request says: fees, labels, and the facts of its link.

The events are built in payments/events.py.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from chalicelib.base.addresses import address_of_log, hex_address
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.catalogue.tokens import family_of, require_token, token_of_log
from chalicelib.payments.events import Counted, event, failed_event
from chalicelib.payments.links.records import Link, Payable
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, Refund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.rules import currency_of, stated_field
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext


class Label(StrEnum):
    OVER = "over"
    """It completes the request, and more than is owed of it is paid then."""
    UNDER = "under"
    """Less than the amount of the request is paid with it. If the request is paid, its owner has accepted that."""
    LATE = "late"
    """Its block is of the time of the link's expiry or later."""
    DUPLICATE = "duplicate"
    """The request was paid or cancelled before it."""
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a label, no secret
    """It is in another token than that of the request, or in the native coin."""
    WRONG_NETWORK = "wrong_network"
    """It is on another network than that of the request."""
    WRONG_PAYEE = "wrong_payee"
    """Another address than the payee's received it; of a commerce payment, anybody but the escrow."""


def is_late(link: Link | None, at: datetime) -> bool:
    """Whether a transfer in a block of that time is late. Without a link a request does not expire."""
    return link is not None and at >= link.expires_at


def of_payment(payable: Payable, request: Request, payment: Payment) -> list[Label]:
    """The labels of a payment that counts; `request` is the state after it. One that is not owed is not announced."""
    found = [Label.LATE] if is_late(payable.link, payment.at) else []
    if not payment.is_announced:
        return [Label.DUPLICATE, *found]
    if request.status is not RequestStatus.PAID:
        return [Label.UNDER, *found]
    return [*of_paid(request), *found]


def of_paid(request: Request) -> list[Label]:
    """The labels of a request that is paid, whatever paid it last."""
    found = [Label.OVER] if request.paid > request.due else []
    return [*found, Label.UNDER] if request.due < request.amount else found


def of_unmatched(payable: Payable, request: Request, transfer: UnmatchedTransfer) -> list[Label]:
    """The labels of a transfer with the request's reference that does not count."""
    found = [Label(transfer.reason)]
    if transfer.payee != request.payee_in_logs and Label.WRONG_PAYEE not in found:
        found.append(Label.WRONG_PAYEE)
    at = transfer.paid_at or transfer.detected_at
    return [*found, Label.LATE] if is_late(payable.link, at) else found


def payment_event(payable: Payable, request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.confirmed` or `payment.partial` with its variants; `request` is the state after the payment.

    Shop plugins read `clientId` and `origin` of the core event, so it has them. With an off-ramp order,
    `payment.confirmed` tells that the fiat was sent.
    """
    is_paid = request.status is RequestStatus.PAID
    return event(
        request,
        "payment.confirmed" if is_paid else "payment.partial",
        context,
        _amount_counted(payment),
        txHash=payment.tx_hash,
        isCryptoToFiat=payable.order is not None,
        paymentProcessor=context.processor(is_fiat=payable.order is not None and is_paid),
        subStatus="",
        fees=_fees(payable, request, payment),
        reference=payable.reference_of(request),
        payerIdentifier=payable.link.payer_identifier if payable.link else None,
        payerAddress=payment.payer,
        labels=of_payment(payable, request, payment),
        **stated_field(payment, currency_of(request)),
    )


def accepted_event(payable: Payable, request: Request, context: EventContext) -> Event:
    """`payment.confirmed` of no payment: what was paid of `request` before was accepted as full payment."""
    link = payable.link
    return event(
        request,
        "payment.confirmed",
        context,
        Counted(BaseUnits(0)),
        txHash=request.tx_hash,
        subStatus="",
        fees=[],
        reference=payable.reference_of(request),
        payerIdentifier=link.payer_identifier if link is not None else None,
        payerAddress=None,
        labels=of_paid(request),
    )


def removed_event(request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.failed` for a confirmed payment that a fork removed; `request` is the state without the payment."""
    counted, stated = _amount_counted(payment), stated_field(payment, currency_of(request))
    return failed_event(request, "chain_reorganization", context, counted, payment.tx_hash, **stated)


def refunded_event(request: Request, refund: Refund, amount: BaseUnits, context: EventContext) -> Event:
    """`payment.refunded` for a transfer of `amount`, in base units, by which `refund` was last sent."""
    token = require_token(refund.currency)
    return event(
        request,
        "payment.refunded",
        context,
        refundedTo=refund.payer,
        refundAmount=format_amount(amount, token.decimals),
        currency=token.symbol,
        txHash=refund.tx_hash,
        network=refund.network,
    )


def unexpected_event(
    payable: Payable,
    request: Request,
    transfer: Payment | UnmatchedTransfer,
    context: EventContext,
    payer: str | None = None,
) -> Event:
    """`payment.unexpected` for a transfer with the request's reference that was not owed, or does not count.

    `request` is the state after it, and after its removal if it is reversed. `payer` is who sent an unmatched transfer.
    """
    if isinstance(transfer, Payment):
        token, payee, payer = currency_of(request), request.payee, transfer.payer
        counted, found = transfer.value, of_payment(payable, request, transfer)
    else:
        sent = token_of_log(transfer.network, transfer.token_address)
        assert sent is not None, "only a catalogued token is announced"
        token, payee = sent, address_of_log(transfer.payee, family_of(sent))
        counted, found = BaseUnits(0), of_unmatched(payable, request, transfer)
    return event(
        request,
        "payment.unexpected",
        context,
        Counted(counted),
        status=transfer.status.value,
        txHash=transfer.tx_hash,
        network=transfer.network,
        reference=payable.reference_of(request),
        untoldCount=0 if transfer.status is PaymentStatus.REVERSED else request.unexpected_unnotified,
        labels=found,
        payee=payee,
        payerAddress=payer,
        paymentCurrency=token.symbol,
        receivedAmount=format_amount(transfer.amount, token.decimals),
        **stated_field(transfer, token),
    )


def _amount_counted(payment: Payment) -> Counted:
    return Counted(payment.value, payment.amount, payment.rate)


def _fees(payable: Payable, request: Request, payment: Payment) -> list[dict[str, str]]:
    """The fee paid to the request's fee address, and the fee of the off-ramp provider on the whole of a paid request.

    A fee to another address, which any payer can name, is left out; who receives that of a capture from the escrow is
    named by its operator.
    """
    token, fee_address, fees = currency_of(request), payable.fee_of(request).address, []
    if payable.commerce is not None:
        fee_address = payment.fee_address
    if payment.fee_amount and fee_address is not None and hex_address(payment.fee_address) == hex_address(fee_address):
        fees.append(("platform", format_amount(payment.fee_amount, token.decimals)))
    if payable.order is not None and request.status is RequestStatus.PAID and Decimal(payable.order.fee):
        fees.append(("crypto-to-fiat", payable.order.fee))
    return [{"type": kind, "amount": amount, "currency": token.symbol} for kind, amount in fees]
