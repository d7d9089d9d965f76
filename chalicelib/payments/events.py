"""The one builder of events about requests: what every event says of its request is written here and nowhere else.

Which kind has which of the fields, in which order, is in webhooks/kinds.py. Whoever announces something gives only the
facts that the request does not have.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.payments.rates.records import Rate
from chalicelib.payments.rates.rules import invert_rate, rate_text
from chalicelib.payments.requests.records import CustomerInfo, Request
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.webhooks.kinds import BY_NAME, body_of, new_event, with_sequence
from chalicelib.webhooks.records import Event, EventVariant
from chalicelib.webhooks.rules import EventContext, Payload


@frozen
class Counted:
    """What a payment counts for: `value`, in the units of the request's amount.

    One in another currency than the invoice's has the `rate` that it was valued by, and `moved`, its amount in base
    units of the request's token.
    """

    value: BaseUnits
    moved: BaseUnits = BaseUnits(0)
    rate: Rate | None = None


def event(request: Request, kind: str, context: EventContext, counted: Counted | None = None, **facts: Any) -> Event:
    """The event of that kind about a request, with its variants, as of `context`.

    `facts` are further fields by their names, and take the place of what the request says. A variant differs in `event`
    alone; `.checkout` is that of a link.
    """
    described = BY_NAME[kind]
    unknown = facts.keys() - {each.name for each in described.fields}
    assert not unknown, f"{kind} has no {unknown}: add it to webhooks/kinds.py"
    known = {**_of_request(request, context), **(_of_amount(request, counted) if counted else {}), **facts}
    is_sent_as = {"client_id": request.client_id is not None, "checkout": request.link_token is not None}
    names = [f"{kind}.{variant}" for variant in described.variants if is_sent_as[variant]]
    made = new_event(kind, body_of(kind, known), request.account_id, request.client_id, context)
    return replace(made, variants=tuple(EventVariant(name) for name in names), request_id=request.request_id)


def failed_event(
    request: Request, reason: str | None, context: EventContext, counted: Counted, tx_hash: str | None, **facts: Any
) -> Event:
    """`payment.failed` of a payment that counted for `counted`, or would have, by the transaction `tx_hash`."""
    known = {"txHash": tx_hash, "subStatus": "failed", "failureReason": reason, **facts}
    return event(request, "payment.failed", context, counted, **known)


def number_events(
    requests: Iterable[Request], events: Iterable[Event]
) -> tuple[tuple[Request, ...], tuple[Event, ...]]:
    """The events with their sequences, in this order, and the requests with the count of their events.

    Both are written in one transaction, on condition that nobody else has written the requests: so no two events about
    a request have the same number. A merge takes the count over with the request. Every event about a request has that
    request among the `requests`, whether or not anything else of it changes.
    """
    counted, numbered = {each.request_id: each for each in requests}, list[Event]()
    for each in events:
        assert each.request_id is not None, "it is about a request"
        request = counted[each.request_id]
        numbered.append(with_sequence(each, request.event_count + 1))
        counted[each.request_id] = replace(request, event_count=request.event_count + 1)
    return tuple(counted.values()), tuple(numbered)


def _of_request(request: Request, context: EventContext) -> Payload:
    """What a request says for itself; a body takes of it what its kind has. What does not apply is left out."""
    optional = {
        "createdWith": request.created_with.value if request.created_with is not None else None,
        "recurringPayment": {"id": request.recurring_payment_id} if request.recurring_payment_id else None,
        "excessAmount": amount_text(request.paid - request.due, request) if request.paid > request.due else None,
        "customerInfo": customer_fields(request.customer_info) if request.customer_info is not None else None,
        "clientId": request.client_id,
        "origin": (request.origin or "") if request.client_id is not None else None,
    }
    return {
        "requestId": request.request_id,
        "requestID": request.request_id,
        "paymentReference": request.payment_reference,
        "explorer": f"{context.explorer_url}/request/{request.request_id}",
        "timestamp": iso(context.now),
        "paymentProcessor": context.payment_processor,
        "totalAmountPaid": amount_text(request.paid, request),
        "expectedAmount": amount_text(request.amount, request),
        "network": request.network,
        "currency": invoice_of(request).symbol,
        "paymentCurrency": currency_of(request).symbol,
        "isCryptoToFiat": request.fiat is not None,
        "payee": request.payee,
        **without_none(optional),
    }


def _of_amount(request: Request, counted: Counted) -> Payload:
    """What a payment counts for, and how one in another currency than the invoice's was valued.

    Source is what was paid, destination the invoice: each rate is the price of the other currency's unit in its own.
    """
    amount, rate = amount_text(counted.value, request), counted.rate
    if rate is None:
        return {"amount": amount}
    in_invoice = rate_text(invert_rate(rate))
    return {
        "amount": amount,
        "conversionRate": in_invoice,
        "conversionRateSource": rate_text(rate),
        "conversionRateDestination": in_invoice,
        "convertedAmountSource": format_amount(counted.moved, currency_of(request).decimals),
        "convertedAmountDestination": amount,
        "rateProvider": rate.source,
    }


def customer_fields(info: CustomerInfo) -> Payload:
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
    return without_none({**sent, "address": without_none(of_address) if address else None})


def without_none(fields: Payload) -> Payload:
    """The fields whose value is not None."""
    return {name: value for name, value in fields.items() if value is not None}
