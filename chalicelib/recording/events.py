"""Payment events: the exact body of each event that a merchant receives (interface.md, Events)."""

from chalicelib.base import ids
from chalicelib.base.addresses import hex_address
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.catalogue.tokens import Token, token_with_id
from chalicelib.links.records import Bill
from chalicelib.requests.records import Payment, Refund, Request, RequestStatus
from chalicelib.webhooks.records import Event, EventVariant
from chalicelib.webhooks.rules import EventContext, Payload, compact_json


def payment_event(bill: Bill, request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.confirmed` or `payment.partial` with its variants; `request` is the state after the payment.

    The variants differ in `event` alone; `.checkout` is that of a link. Shop plugins read `clientId` and `origin` of
    the core event, so it has them.
    """
    token = _token(request)
    kind = "payment.confirmed" if request.status is RequestStatus.PAID else "payment.partial"
    payload = {
        **_payment_payload(kind, request, payment, context),
        "subStatus": "",
        "fees": _fees(bill.fee_address_of(request), payment, token),
        "payee": request.payee,
        "reference": bill.reference_of(request),
        "payerIdentifier": bill.link.payer_identifier if bill.link else None,
    }
    if request.paid > request.amount:
        payload["excessAmount"] = format_amount(BaseUnits(request.paid - request.amount), token.decimals)
    kinds = [kind]
    if request.client_id is not None:
        payload |= {"clientId": request.client_id, "origin": request.origin or ""}
        kinds.append(f"{kind}.client_id")
    if bill.link is not None:
        kinds.append(f"{kind}.checkout")
    return _event(request, [{**payload, "event": each} for each in kinds], context)


def failed_event(request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.failed` for a confirmed payment that a fork removed; `request` is the state without the payment."""
    payload = {
        **_payment_payload("payment.failed", request, payment, context),
        "subStatus": "failed",
        "failureReason": "chain_reorganization",
    }
    return _event(request, [payload], context)


def refunded_event(request: Request, refund: Refund, amount: BaseUnits, context: EventContext) -> Event:
    """`payment.refunded` for a transfer of `amount`, in base units, by which `refund` was last sent."""
    token = token_with_id(refund.currency)
    assert token is not None, "only a catalogued token is refunded"
    payload = {
        "event": "payment.refunded",
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "refundedTo": refund.payer,
        "refundAmount": format_amount(amount, token.decimals),
        "currency": token.symbol,
        "timestamp": iso(context.now),
        "txHash": refund.tx_hash,
        "network": refund.network,
        "paymentProcessor": context.payment_processor,
        "createdWith": request.created_with,
    }
    return _event(request, [payload], context)


def _fees(fee_address: str | None, payment: Payment, token: Token) -> list[dict[str, str]]:
    """The fee paid to the request's fee address. A fee to another one, which any payer can name, is left out."""
    if not payment.fee_amount or fee_address is None:
        return []
    if hex_address(payment.fee_address) != hex_address(fee_address):
        return []
    amount = format_amount(payment.fee_amount, token.decimals)
    return [{"type": "platform", "amount": amount, "currency": token.symbol}]


def _payment_payload(kind: str, request: Request, payment: Payment, context: EventContext) -> Payload:
    token = _token(request)
    return {
        "event": kind,
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "amount": format_amount(payment.amount, token.decimals),
        "totalAmountPaid": format_amount(request.paid, token.decimals),
        "expectedAmount": format_amount(request.amount, token.decimals),
        "timestamp": iso(context.now),
        "txHash": payment.tx_hash,
        "network": request.network,
        "currency": token.symbol,
        "paymentCurrency": token.symbol,
        "isCryptoToFiat": False,
        "paymentProcessor": context.payment_processor,
        "createdWith": request.created_with,
    }


def _event(request: Request, variants: list[Payload], context: EventContext) -> Event:
    first, *others = (EventVariant(payload["event"], compact_json(payload)) for payload in variants)
    return Event(
        event_id=ids.ulid(context.now, context.entropy),
        kind=first.kind,
        account_id=request.account_id,
        client_id=request.client_id,
        body=first.body,
        created_at=context.now,
        announced=False,
        variants=tuple(others),
    )


def _token(request: Request) -> Token:
    token = token_with_id(request.currency)
    assert token is not None, "a stored request always has a catalogued currency"
    return token
