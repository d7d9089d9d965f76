"""Responses about requests: how the status of one is shaped."""

from decimal import Decimal
from typing import Any

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.conversions import FIAT_DECIMALS_ON_CHAIN
from chalicelib.payments.events import without_none
from chalicelib.payments.links.schemas import crosschain_answers
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.rates.rules import invert_rate, rate_text
from chalicelib.payments.requests.names.schemas import name_fields
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.plain_transfers.schemas import plain_transfer_field
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of, remaining, stated_field
from chalicelib.payments.search.requests import schemas
from chalicelib.payments.search.requests.rules import FoundRequest, shown_rate
from chalicelib.payments.search.rules import dollars


def request_answer(
    found: FoundRequest, processor: str, shows_customer: bool, fiat_processor: str = "service-tech"
) -> schemas.RequestAnswer:
    """The status of a request. `processor` names this service (Settings.payment_processor), `fiat_processor` who pays
    out to bank accounts (Settings.fiat_processor)."""
    request = found.request
    return schemas.RequestAnswer(
        **_request_facts(found, shows_customer),
        **_facts_of_payment(found, processor, fiat_processor),
        **without_none({"rateSource": found.rate_source}),
        amountInUsd=_dollars(found.amount_dollars),
        conversionRate=_price(found.rate),
        conversionBreakdown=_breakdown(found) if found.has_several_rates else None,
        isCryptoToFiatAvailable=request.is_crypto_to_fiat,
        **without_none(
            {"offramp": found.payable.order and schemas.OfframpAnswer.of(found.payable.order, shows_customer)}
        ),
        **without_none({"crosschainIntents": crosschain_answers(found.payable, request) or None}),
        detectionSource=processor if request.paid else None,
        note=request.note if shows_customer else None,
        **plain_transfer_field(request),
        **without_none({"isCommercePayment": True if found.payable.commerce else None}),
    )


def payment_item(payment: Payment, request: Request, processor: str) -> schemas.PaymentItem:
    token, rate = currency_of(request), payment.rate
    moved, counts = format_amount(payment.amount, token.decimals), amount_text(payment.value, request)
    return schemas.PaymentItem(
        id=payment.payment_id,
        amount=counts,
        currency=invoice_of(request).symbol,
        paymentCurrency=token.symbol,
        sourceNetwork=payment.source_network,
        destinationNetwork=payment.network,
        sourceTxHash=payment.source_hash,
        destinationTxHash=payment.tx_hash if payment.origin is not None else None,
        payerAddress=payment.payer,
        timestamp=iso(payment.at),
        type=payment.type.value,
        conversionRateSource=rate_text(rate) if rate else None,
        conversionRateDestination=_price(rate),
        convertedAmountSource=moved if rate else None,
        convertedAmountDestination=counts if rate else None,
        **without_none({"rateProvider": rate and rate.source, **stated_field(payment, token)}),
        paidAmount=moved,
        paidCurrency=token.symbol,
        paidNetwork=payment.network,
        receivedAmount=moved,
        receivedCurrency=token.symbol,
        receivedNetwork=payment.network,
        detectionSource=processor,
        note=None,
    )


def _request_facts(found: FoundRequest, shows_customer: bool) -> dict[str, Any]:
    request, recurrence = found.request, found.request.recurrence
    info = request.customer_info if shows_customer else None
    shown = {
        "originalRequestId": request.original_request_id,
        "originalRequestPaymentReference": request.original_payment_reference,
        "recurrence": recurrence
        and schemas.RecurrenceAnswer(startDate=recurrence.start_date, frequency=recurrence.frequency.value),
        **_facts_of_acceptance(request),
    }
    return {
        "requestId": request.request_id,
        "paymentReference": request.payment_reference,
        "payee": request.payee or None,
        **name_fields(request),
        "requestAmount": amount_text(request.amount, request),
        "invoiceCurrency": invoice_of(request).id,
        "paymentCurrency": request.currency,
        "reference": found.payable.reference_of(request),
        "customerInfo": schemas.CustomerInfoAnswer.of(info) if info else None,
        "isRecurrenceStopped": recurrence is not None and recurrence.is_stopped,
        **without_none(shown),
    }


def _facts_of_acceptance(request: Request) -> dict[str, str]:
    if request.accepted_at is None or request.paid_when_accepted is None:
        return {}
    accepted = amount_text(request.paid_when_accepted, request)
    return {"acceptedAmount": accepted, "acceptedAt": iso(request.accepted_at)}


def _facts_of_payment(found: FoundRequest, processor: str, fiat_processor: str) -> dict[str, Any]:
    request, token, made = found.request, currency_of(found.request), found.request.execution
    return {
        "hasBeenPaid": found.is_paid,
        "createdAt": iso(request.created_at),
        "isListening": found.is_listening,
        **without_none(
            {"execution": made and schemas.ExecutionAnswer.from_record(made, paymentIntentId=made.intent_id)}
        ),
        "status": request.shown_status.value,
        "txHash": request.tx_hash,
        "paidAmount": amount_text(request.paid, request),
        "receivedAmount": format_amount(found.received, token.decimals),
        "refundedAmount": format_amount(min(request.refunded, found.received), token.decimals),
        "excessAmount": amount_text(found.excess, request) if found.excess else None,
        "payerAddress": found.payer,
        "payments": [payment_item(each, request, processor) for each in found.payments],
        "fees": _fees(found, processor, fiat_processor),
    }


def _fees(found: FoundRequest, processor: str, fiat_processor: str) -> list[schemas.PaidFee]:
    token, order, fees = currency_of(found.request), found.payable.order, []
    if found.paid_fees:
        amount = format_amount(found.paid_fees, token.decimals)
        fees.append(schemas.PaidFee(type="platform", provider=processor, amount=amount, currency=token.symbol))
    if order is not None and order.paid_at is not None and Decimal(order.fee):
        fees.append(
            schemas.PaidFee(type="crypto-to-fiat", provider=fiat_processor, amount=order.fee, currency=token.symbol)
        )
    return fees


def _breakdown(found: FoundRequest) -> schemas.Breakdown:
    request, market = found.request, found.market.shown
    known = {
        "paidAmountInUsd": _dollars(found.paid_dollars),
        "remainingAmountInUsd": _dollars(found.remaining_dollars),
        "currentMarketRate": _price(market),
        "currentMarketRateSource": market and market.source,
    }
    return schemas.Breakdown(
        paidAmount=amount_text(request.paid, request),
        remainingAmount=amount_text(remaining(request), request),
        **without_none(known),
        payments=[_breakdown_payment(each, found) for each in found.payments],
    )


def _breakdown_payment(payment: Payment, found: FoundRequest) -> schemas.BreakdownPayment:
    rate = shown_rate(payment)
    known = {
        "amountInUsd": _dollars(dollars(payment)),
        "conversionRate": _price(rate),
        "rateSource": rate and rate.source,
    }
    return schemas.BreakdownPayment(
        amount=amount_text(payment.value, found.request), timestamp=iso(payment.at), **without_none(known)
    )


def _dollars(units: int | None) -> str | None:
    return None if units is None else format_amount(units, FIAT_DECIMALS_ON_CHAIN)


def _price(rate: Rate | None) -> str | None:
    """What one token is worth in the currency that the rate begins with."""
    return rate_text(invert_rate(rate)) if rate else None
