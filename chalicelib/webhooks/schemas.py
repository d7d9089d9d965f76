"""Models of the events that webhooks receive, for the `webhooks` section of the OpenAPI document.

The bodies are made elsewhere (payments/recording/events.py, samples.py); tests hold each of them to these models.
Bodies may get new fields at any time, so the models allow fields that they do not name.
"""

import json
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chalicelib.base.frozen import frozen
from chalicelib.platform.http.schemas import unsent
from chalicelib.webhooks.rules import KINDS, EventContext
from chalicelib.webhooks.samples import sample_event

DELIVERY = (
    "The body is signed: `x-service-signature` is the lower-case hex HMAC-SHA256 of its bytes, keyed with the "
    "webhook's secret. Respond with a 2xx status within five seconds; a delivery has four attempts. Every header is "
    "also sent as `x-request-network-...`, or as the deployment's HEADER_BRANDS say."
)

_PERSONAL = "not sent to a webhook that a client id alone registered"


def _header(name: str, description: str, example: str, schema: dict[str, Any], required: bool = True) -> dict[str, Any]:
    where = {"name": name, "in": "header", "required": required, "description": description}
    return {**where, "schema": {"type": "string", **schema}, "example": example}


HEADERS = [
    _header("x-service-signature", "HMAC-SHA256 of the raw body", "5d1c" * 16, {"pattern": "^[0-9a-f]{64}$"}),
    _header("x-service-delivery", "The same for each attempt", "01JZ4PC7EXAMPLEDE11VERY001", {"minLength": 1}),
    _header("x-service-retry-count", "0 for the first attempt", "0", {"pattern": "^[0-3]$"}),
    _header("x-service-test", "Sent with samples only", "true", {"const": "true"}, required=False),
]


class Payload(BaseModel):
    """What every event has. It may have more fields than are listed here."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    event: str = Field(description="The kind of the event")
    timestamp: str = Field(description="When the service recorded it, ISO 8601 in UTC")


class RequestPayload(Payload):
    """What every event about a request has."""

    requestId: str = Field(description="The id of the request")
    requestID: str = Field(description="The same as requestId")
    paymentReference: str = Field(description="The reference in the payment's calldata, as 0x hex")
    explorer: str = Field(description="A page about the request")
    paymentProcessor: str = Field(description="Who processed it, as the deployment is configured")


class EventFee(BaseModel):
    """A fee that was paid beside the amount."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    type: str = Field(description="platform, or crypto-to-fiat for that of the off-ramp provider")
    amount: str = Field(description="In units of the token")
    currency: str = Field(description="The symbol of the token")


class EventAddress(BaseModel):
    """The address of a customer. What was not given is absent."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    street: str = Field(default="", description="Street and number")
    city: str = Field(default="", description="The town")
    state: str = Field(default="", description="State or province")
    postalCode: str = Field(default="", description="Postal code")
    country: str = Field(default="", description="Two letters, such as US")


class EventCustomer(BaseModel):
    """Who the request is for. What was not given is absent."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    firstName: str = Field(default="", description="The given name")
    lastName: str = Field(default="", description="The family name")
    email: str = Field(default="", description="The e-mail address")
    address: EventAddress = Field(default_factory=EventAddress, description="Where the customer lives")


class PaymentEventPayload(RequestPayload):
    """What every event about a payment has."""

    createdWith: Literal["apiKey", "clientId", "orchestrator", "session"] = Field(
        "apiKey", description="What the request was created with; absent if that is not known"
    )


class EventRecurringPayment(BaseModel):
    """The recurring payout of which a request is one period."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    id: str = Field(default="", description="As POST /v2/payouts returned it")


class _AmountPayload(PaymentEventPayload):
    amount: str = Field(description="The amount of this payment, in the invoice currency")
    totalAmountPaid: str = Field(description="What is paid of the request in all, in the invoice currency")
    expectedAmount: str = Field(description="What the request asks for, in the invoice currency")
    network: str = Field(description="The network of the payment")
    currency: str = Field(description="The symbol of the invoice currency")
    paymentCurrency: str = Field(description="The symbol of the token that was paid")
    isCryptoToFiat: bool = Field(description="Whether it is paid out to a bank account")
    conversionRate: str = Field(
        "", description="What one token is worth in the invoice currency; absent, as the next five, for direct payments"
    )
    conversionRateSource: str = Field("", description="What one unit of the invoice currency costs in the token")
    conversionRateDestination: str = Field("", description="The same as conversionRate")
    convertedAmountSource: str = Field("", description="The amount that was paid, in units of the token")
    convertedAmountDestination: str = Field("", description="The same as amount")
    rateProvider: str = Field("", description="Who gave the rate")
    recurringPayment: EventRecurringPayment = Field(
        default_factory=EventRecurringPayment, description="If the request is a period of one; otherwise absent"
    )


class _MovedPayload(_AmountPayload):
    txHash: str = Field(description="The transaction of the payment")


class _ConfirmedPayload(_MovedPayload):
    subStatus: Literal[""] = Field(description="Always empty")
    fees: list[EventFee] = Field(description="The fees that reached the fee address of the link or request")
    payee: str = Field(description="The payee's address")
    reference: str | None = Field(description="Your own reference of the link or request")
    payerIdentifier: str | None = Field(
        default_factory=unsent, description=f"As the link was created with; null without a link; {_PERSONAL}"
    )
    payerAddress: str | None = Field(description="Who paid; null if the chain does not tell")
    customerInfo: EventCustomer = Field(
        default_factory=EventCustomer,
        description=f"As the request was created with; absent without it; {_PERSONAL}",
    )
    excessAmount: str = Field("", description="By how much it is overpaid, in the invoice currency; otherwise absent")
    labels: list[Literal["over", "under", "late"]] = Field(
        description="over: more than the amount is paid with it; under: less is; late: its block is of the time of the "
        "link's expiry or later. Empty if it is as it was asked for"
    )


class PaymentPayload(_ConfirmedPayload):
    """A confirmed payment."""

    event: Literal[
        "payment.confirmed",
        "payment.partial",
        "payment.confirmed.checkout",
        "payment.partial.checkout",
    ] = Field(description="The kind of the event")
    clientId: str = Field("", description="The client id of the link or request; absent without one")
    origin: str = Field(
        "", description="The page that it was created from; empty without one, absent without a client id"
    )


class ClientPaymentPayload(_ConfirmedPayload):
    """A confirmed payment of a client id's link or request, or a sample of one."""

    event: Literal["payment.confirmed.client_id", "payment.partial.client_id"] = Field(
        description="The kind of the event"
    )
    clientId: str = Field(description="The client id of the link or request")
    origin: str = Field(description="The page that it was created from; empty without one")


class FailedPayload(_AmountPayload):
    """A confirmed payment that a chain reorganization removed, so that `totalAmountPaid` is what is still paid; a
    recurring payout that is paused, because its payment failed three times; fiat that did not reach a bank account; a
    payment from another chain that did not arrive, whose `amount` is then not part of `totalAmountPaid`; or a commerce
    payment of which nothing will be captured.
    """

    event: Literal["payment.failed"] = Field(description="The kind of the event")
    txHash: str | None = Field(description="The transaction of the payment; null without one")
    subStatus: Literal["failed", "bounced", "insufficient_funds"] = Field(
        description="bounced: the bank returned the money, or the payer of another chain has the tokens back; "
        "insufficient_funds: the payer of a recurring payout or on another chain does not have the amount, or fewer "
        "tokens arrived at the off-ramp provider than were ordered"
    )
    failureReason: str = Field(
        description="chain_reorganization; why the payment of a recurring payout failed; or a code of the off-ramp "
        "provider, or its status: also cancelled, refunded; or what became of a payment from another chain, in words; "
        "of a commerce payment voided, reclaimed or expired"
    )
    offrampId: str = Field("", description="As in payment.processing; only if it is about fiat, as the next one")
    rawPayload: dict[str, Any] = Field(default_factory=dict, description="As in payment.processing")


class UnexpectedPayload(PaymentEventPayload):
    """A transfer with the request's reference that no other event tells of: one that came when the request was paid, or
    that does not count. Only webhooks that choose this kind by its name receive it. Of a request at most ten are told a
    day, and none in tokens that are not in the catalogue.
    """

    event: Literal["payment.unexpected"] = Field(description="The kind of the event")
    labels: list[Literal["duplicate", "late", "wrong_token", "wrong_network", "wrong_payee"]] = Field(
        description="duplicate: the request was paid before; late: its block is of the time of the link's expiry or "
        "later; wrong_token, wrong_network, wrong_payee: it does not count, because it is in another token, on another "
        "network, or was received by another address than was asked for"
    )
    status: Literal["confirmed", "reversed"] = Field(
        description="reversed: a chain reorganization has removed a transfer that an event told of as confirmed"
    )
    amount: str = Field(description="What it counts for, in the invoice currency; 0 if it does not count")
    totalAmountPaid: str = Field(description="What is paid of the request in all, in the invoice currency")
    expectedAmount: str = Field(description="What the request asks for, in the invoice currency")
    txHash: str = Field(description="Its transaction")
    network: str = Field(description="Its network")
    currency: str = Field(description="The symbol of the invoice currency")
    paymentCurrency: str = Field(description="The symbol of the token that was sent")
    receivedAmount: str = Field(description="How much was sent, in units of the token")
    payee: str = Field(description="Who received it")
    reference: str | None = Field(description="Your own reference of the link or request")
    payerAddress: str | None = Field(description="Who sent it; null if the chain does not tell")
    untoldCount: int = Field(
        description="How many such transfers of the request since the last event were too many to be told"
    )


class RefundedPayload(PaymentEventPayload):
    """A transfer that returned an amount which was not owed, or a refund of a commerce payment."""

    event: Literal["payment.refunded"] = Field(description="The kind of the event")
    refundedTo: str = Field(description="The address that received it")
    refundAmount: str = Field(description="In units of the token")
    currency: str = Field(description="The symbol of the token")
    txHash: str = Field(description="The transaction")
    network: str = Field(description="The network")


class ProcessingPayload(PaymentEventPayload):
    """The next step on the way of a paid request to a bank account."""

    event: Literal["payment.processing"] = Field(description="The kind of the event")
    offrampId: str = Field(description="The id of the off-ramp provider's order")
    subStatus: str = Field(
        description="initiated, pending_internal_assessment, ongoing_checks, sending_fiat, fiat_sent, in this order; "
        "beside them retry_required and bounced"
    )
    isCryptoToFiat: Literal[True] = Field(description="Always true")
    rawPayload: dict[str, Any] = Field(
        default_factory=dict, description=f"`status`: what the provider said; `providerId`: its own id; {_PERSONAL}"
    )


class RecurringPayload(PaymentEventPayload):
    """A new request: of the next date of a request that recurs, or of the next period of a recurring payout."""

    event: Literal["request.recurring"] = Field(description="The kind of the event")
    originalRequestId: str = Field(description="The first request of the series, which may be this one")
    originalRequestPaymentReference: str = Field(description="Its reference")
    recurringPayment: EventRecurringPayment = Field(
        default_factory=EventRecurringPayment, description="If the request is a period of one; otherwise absent"
    )


class CompliancePayload(Payload):
    """The provider has changed the state of a person who is paid out in fiat."""

    event: Literal["compliance.updated"] = Field(description="The kind of the event")
    clientUserId: str = Field("", description=f"Your own id of the person; {_PERSONAL}, as all that follows")
    kycStatus: str = Field(
        "",
        description="Of the identity check: not_started, initiated, pending, approved, rejected, retry_required or "
        "failed",
    )
    agreementStatus: str = Field(
        "", description="Of the agreement: not_started, pending, signed, completed, rejected, failed"
    )
    isCompliant: bool = Field(
        default_factory=unsent, description="Whether the person may be paid out: approved and completed"
    )
    rawPayload: dict[str, Any] = Field(default_factory=dict, description="What the provider said")


class PaymentDetailPayload(Payload):
    """The provider has checked a bank account."""

    event: Literal["payment_detail.updated"] = Field(description="The kind of the event")
    paymentDetailsId: str = Field("", description=f"The bank account; {_PERSONAL}, as all that follows")
    clientUserId: str = Field("", description="Your own id of its owner")
    status: str = Field("", description="Of its check: pending, approved or failed")
    rejectionMessage: str = Field("", description="Why it failed, if the provider says so; otherwise absent")
    rawPayload: dict[str, Any] = Field(default_factory=dict, description="What the provider said")


@frozen
class EventKind:
    """One kind of event in the document."""

    summary: str
    model: type[BaseModel]


_CONFIRMED = EventKind("The confirmed payments of a request reach its amount", PaymentPayload)
_PARTIAL = EventKind("A payment is confirmed and the request is not paid in full", PaymentPayload)
EVENTS = {
    "payment.confirmed": _CONFIRMED,
    "payment.confirmed.checkout": _CONFIRMED,
    "payment.confirmed.client_id": EventKind(_CONFIRMED.summary, ClientPaymentPayload),
    "payment.partial": _PARTIAL,
    "payment.partial.checkout": _PARTIAL,
    "payment.partial.client_id": EventKind(_PARTIAL.summary, ClientPaymentPayload),
    "payment.failed": EventKind("A payment was reversed, or will not be made", FailedPayload),
    "payment.unexpected": EventKind("A transfer that was not owed, or does not count", UnexpectedPayload),
    "payment.refunded": EventKind("A refund is confirmed", RefundedPayload),
    "payment.processing": EventKind("A paid request is a step nearer to the bank account", ProcessingPayload),
    "request.recurring": EventKind("A new request of a series was created", RecurringPayload),
    "payment_detail.updated": EventKind("The check of a bank account has an outcome", PaymentDetailPayload),
    "compliance.updated": EventKind("The compliance status of a person changes", CompliancePayload),
}
"""Every kind of event. Variants arrive beside the kind that begins their name, with the same facts."""
assert EVENTS.keys() == set(KINDS)


def sample(kind: str) -> Any:
    """The body that POST /v1/webhook/test sends, at a fixed time and with an invented explorer."""
    context = EventContext(datetime(2026, 3, 15, 10, tzinfo=UTC), bytes, "https://explorer.example", "request-network")
    return json.loads(sample_event(kind, "", None, context).body)
