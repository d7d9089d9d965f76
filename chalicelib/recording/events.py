"""Payment events: the exact body of each event that a merchant receives (interface.md, Events)."""

from decimal import Decimal

from chalicelib.base import ids
from chalicelib.base.addresses import hex_address
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.links.records import Bill
from chalicelib.rates.rules import inverted, rate_text
from chalicelib.requests.payments.records import Payment, Refund
from chalicelib.requests.records import CustomerInfo, Request, RequestStatus
from chalicelib.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.webhooks.records import Event, EventVariant
from chalicelib.webhooks.rules import EventContext, Payload, compact_json


def payment_event(bill: Bill, request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.confirmed` or `payment.partial` with its variants; `request` is the state after the payment.

    The variants differ in `event` alone; `.checkout` is that of a link. Shop plugins read `clientId` and `origin` of
    the core event, so it has them. With an off-ramp order, `payment.confirmed` tells that the fiat was sent.
    """
    kind = "payment.confirmed" if request.status is RequestStatus.PAID else "payment.partial"
    payload = {
        **_payment_payload(kind, request, payment, context),
        "subStatus": "",
        "fees": _fees(bill, request, payment),
        "payee": request.payee,
        "reference": bill.reference_of(request),
        "payerIdentifier": bill.link.payer_identifier if bill.link else None,
        "payerAddress": payment.payer,
    }
    if request.paid > request.amount:
        payload["excessAmount"] = amount_text(request.paid - request.amount, request)
    if request.customer_info is not None:
        payload["customerInfo"] = _customer_info(request.customer_info)
    if bill.order is not None:
        payload["isCryptoToFiat"] = True
        payload["paymentProcessor"] = context.processor(is_fiat=request.status is RequestStatus.PAID)
    kinds = [kind]
    if request.client_id is not None:
        payload |= {"clientId": request.client_id, "origin": request.origin or ""}
        kinds.append(f"{kind}.client_id")
    if bill.link is not None:
        kinds.append(f"{kind}.checkout")
    return event_of(request, [{**payload, "event": each} for each in kinds], context)


def failed_event(request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.failed` for a confirmed payment that a fork removed; `request` is the state without the payment."""
    payload = {
        **_payment_payload("payment.failed", request, payment, context),
        "subStatus": "failed",
        "failureReason": "chain_reorganization",
        "isCryptoToFiat": request.fiat is not None,
    }
    return event_of(request, [payload], context)


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
        **request.origin_facts,
    }
    return event_of(request, [payload], context)


def _fees(bill: Bill, request: Request, payment: Payment) -> list[dict[str, str]]:
    """The fee paid to the request's fee address, and the fee of the off-ramp provider on the whole of a paid request.

    A fee to another address, which any payer can name, is left out; who receives that of a capture from the escrow is
    named by its operator.
    """
    token, fee_address, fees = currency_of(request), bill.fee_address_of(request), []
    if bill.commerce is not None:
        fee_address = payment.fee_address
    if payment.fee_amount and fee_address is not None and hex_address(payment.fee_address) == hex_address(fee_address):
        fees.append(("platform", format_amount(payment.fee_amount, token.decimals)))
    if bill.order is not None and request.status is RequestStatus.PAID and Decimal(bill.order.fee):
        fees.append(("crypto-to-fiat", bill.order.fee))
    return [{"type": kind, "amount": amount, "currency": token.symbol} for kind, amount in fees]


def _payment_payload(kind: str, request: Request, payment: Payment, context: EventContext) -> Payload:
    return {
        "event": kind,
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "amount": amount_text(payment.counted, request),
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "timestamp": iso(context.now),
        "txHash": payment.tx_hash,
        "network": request.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": currency_of(request).symbol,
        "isCryptoToFiat": False,
        "paymentProcessor": context.payment_processor,
        **request.origin_facts,
        **_conversion(request, payment),
        **_recurring(request),
    }


def _conversion(request: Request, payment: Payment) -> dict[str, str]:
    """How a payment in another currency than the invoice's was valued; nothing if it was in the same.

    Source is what was paid, destination the invoice: each rate is the price of the other currency's unit in its own.
    """
    rate = payment.rate
    if rate is None:
        return {}
    in_invoice = rate_text(inverted(rate))
    return {
        "conversionRate": in_invoice,
        "conversionRateSource": rate_text(rate),
        "conversionRateDestination": in_invoice,
        "convertedAmountSource": format_amount(payment.amount, currency_of(request).decimals),
        "convertedAmountDestination": amount_text(payment.counted, request),
        "rateProvider": rate.source,
    }


def _recurring(request: Request) -> Payload:
    """The recurring payout of which the request is one period; nothing for another request."""
    return {"recurringPayment": {"id": request.recurring_payment_id}} if request.recurring_payment_id else {}


def _customer_info(info: CustomerInfo) -> Payload:
    """What the merchant sent of it, under the names under which it was sent."""
    address = info.address
    sent = {"firstName": info.first_name, "lastName": info.last_name, "email": info.email}
    of_address = {
        "street": address.street,
        "city": address.city,
        "state": address.state,
        "postalCode": address.postal_code,
        "country": address.country,
    } if address else {}
    return _without_none({**sent, "address": _without_none(of_address) if address else None})


def _without_none(fields: Payload) -> Payload:
    return {name: value for name, value in fields.items() if value is not None}


def event_of(request: Request, variants: list[Payload], context: EventContext) -> Event:
    """The event of a request's owner with these bodies, the first of which is its own."""
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
