"""Payment events: the exact body of each event that a merchant receives (interface.md, Events)."""

from decimal import Decimal

from chalicelib.base import ids
from chalicelib.base.addresses import address_of_log, hex_address
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.tokens import family_of, token_of_log, token_with_id
from chalicelib.payments.links.records import Payable
from chalicelib.payments.rates.rules import inverted, rate_text
from chalicelib.payments.recording import labels
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, Refund, UnmatchedTransfer
from chalicelib.payments.requests.records import CustomerInfo, Request, RequestStatus
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.webhooks.records import Event, EventVariant
from chalicelib.webhooks.rules import EventContext, Payload, compact_json


def payment_event(payable: Payable, request: Request, payment: Payment, context: EventContext) -> Event:
    """`payment.confirmed` or `payment.partial` with its variants; `request` is the state after the payment.

    The variants differ in `event` alone; `.checkout` is that of a link. Shop plugins read `clientId` and `origin` of
    the core event, so it has them. With an off-ramp order, `payment.confirmed` tells that the fiat was sent.
    """
    kind = "payment.confirmed" if request.status is RequestStatus.PAID else "payment.partial"
    payload = {
        **_payment_payload(kind, request, payment, context),
        "subStatus": "",
        "fees": _fees(payable, request, payment),
        "payee": request.payee,
        "reference": payable.reference_of(request),
        "payerIdentifier": payable.link.payer_identifier if payable.link else None,
        "payerAddress": payment.payer,
        "labels": labels.of_payment(payable, request, payment),
    }
    if request.paid > request.amount:
        payload["excessAmount"] = amount_text(request.paid - request.amount, request)
    if request.customer_info is not None:
        payload["customerInfo"] = _customer_info(request.customer_info)
    if payable.order is not None:
        payload["isCryptoToFiat"] = True
        payload["paymentProcessor"] = context.processor(is_fiat=request.status is RequestStatus.PAID)
    kinds = [kind]
    if request.client_id is not None:
        payload |= {"clientId": request.client_id, "origin": request.origin or ""}
        kinds.append(f"{kind}.client_id")
    if payable.link is not None:
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
        **_request_payload("payment.refunded", request, context),
        "refundedTo": refund.payer,
        "refundAmount": format_amount(amount, token.decimals),
        "currency": token.symbol,
        "txHash": refund.tx_hash,
        "network": refund.network,
    }
    return event_of(request, [payload], context)


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
    is_reversed = transfer.status is PaymentStatus.REVERSED
    payload = {
        **_request_payload("payment.unexpected", request, context),
        "status": transfer.status.value,
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "txHash": transfer.tx_hash,
        "network": transfer.network,
        "currency": invoice_of(request).symbol,
        "reference": payable.reference_of(request),
        "untoldCount": 0 if is_reversed else request.unexpected_untold,
    }
    if isinstance(transfer, Payment):
        token, payee, payer = currency_of(request), request.payee, transfer.payer
        payload["labels"] = labels.of_payment(payable, request, transfer)
        payload["amount"] = amount_text(transfer.counted, request)
    else:
        found = token_of_log(transfer.network, transfer.token_address)
        assert found is not None, "only a catalogued token is told of"
        token, payee = found, address_of_log(transfer.payee, family_of(found))
        payload["labels"] = labels.of_unmatched(payable, request, transfer)
        payload["amount"] = amount_text(0, request)
    payload |= {"payee": payee, "payerAddress": payer, "paymentCurrency": token.symbol}
    payload["receivedAmount"] = format_amount(transfer.amount, token.decimals)
    return event_of(request, [payload], context)


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


def _payment_payload(kind: str, request: Request, payment: Payment, context: EventContext) -> Payload:
    return {
        **_request_payload(kind, request, context),
        "amount": amount_text(payment.counted, request),
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "txHash": payment.tx_hash,
        "network": request.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": currency_of(request).symbol,
        "isCryptoToFiat": False,
        **_conversion(request, payment),
        **_recurring(request),
    }


def _request_payload(kind: str, request: Request, context: EventContext) -> Payload:
    """What every event about a payment of a request has."""
    return {
        "event": kind,
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "timestamp": iso(context.now),
        "paymentProcessor": context.payment_processor,
        **request.origin_facts,
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
