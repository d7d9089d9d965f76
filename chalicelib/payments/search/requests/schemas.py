"""Models of the status of a request."""

from typing import Literal, Self

from pydantic import Field

from chalicelib.base.timestamps import iso
from chalicelib.offramp.core.records import Order
from chalicelib.payments.events import customer_fields, without_none
from chalicelib.payments.links.schemas import CrosschainIntentAnswer
from chalicelib.payments.rates.records import RateSource
from chalicelib.payments.requests.names.schemas import PayeeNameAnswer
from chalicelib.payments.requests.payments.schemas import StatedAmount
from chalicelib.payments.requests.plain_transfers.schemas import PlainTransferAnswer
from chalicelib.payments.requests.records import CustomerInfo
from chalicelib.platform.http.schemas import Output, unsent


class CustomerAddressAnswer(Output):
    """The address of a customer, as the merchant sent it. What was not sent is absent."""

    street: str = Field(default="", description="Street and number")
    city: str = Field(default="", description="The city")
    state: str = Field(default="", description="State or province")
    postalCode: str = Field(default="", description="Postal code")
    country: str = Field(default="", description="Two letters")


class CustomerInfoAnswer(Output):
    """Name, e-mail and address of a customer, as the merchant sent them. What was not sent is absent."""

    firstName: str = Field(default="", description="Given name")
    lastName: str = Field(default="", description="Family name")
    email: str = Field(default="", description="E-mail address")
    address: CustomerAddressAnswer = Field(default_factory=CustomerAddressAnswer)

    @classmethod
    def of(cls, info: CustomerInfo) -> Self:
        return cls(**customer_fields(info))


class RecurrenceAnswer(Output):
    startDate: str
    frequency: Literal["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]


class PaymentItem(Output):
    """One payment that counts for the request. Source is what was paid, destination the invoice."""

    id: str
    amount: str = Field(
        description="What it counts, in the invoice currency, whereas `amount` of `GET /v2/payments` is what was paid, "
        "in the token: here `paidAmount`"
    )
    currency: str = Field(description="The symbol of the invoice currency")
    paymentCurrency: str = Field(description="The symbol of the token that was paid")
    sourceNetwork: str
    destinationNetwork: str
    sourceTxHash: str | None
    destinationTxHash: str | None = Field(description="null, as it is the same transaction")
    payerAddress: str | None = Field(description="Who paid, by the word of one node; null if the chain does not tell")
    timestamp: str = Field(description="When it was paid, ISO 8601 in UTC")
    type: Literal["direct", "conversion", "crosschain", "recurring"]
    conversionRateSource: str | None = Field(
        description="What one unit of the invoice currency costs in the token; null, as the next three, if it is direct"
    )
    conversionRateDestination: str | None = Field(description="What one token is worth in the invoice currency")
    convertedAmountSource: str | None = Field(description="What was paid, in units of the token")
    convertedAmountDestination: str | None = Field(description="The same as amount")
    rateProvider: RateSource = Field(RateSource.UNKNOWN, description="Who gave the rate; absent for direct payments")
    paidAmount: str = Field(description="What was paid, in units of the token")
    paidCurrency: str
    paidNetwork: str
    receivedAmount: str = Field(description="What the payee received: the same, as payments stay on one network")
    statedAmount: StatedAmount
    receivedCurrency: str
    receivedNetwork: str
    detectionSource: str = Field(description="Who found it on the chain: this service")
    note: str | None = Field(description="Null at present")


class BreakdownPayment(Output):
    amount: str = Field(description="What it counts, in the invoice currency")
    amountInUsd: str = Field("", description="In US dollars when it was paid; absent, as the next two, if not known")
    conversionRate: str = Field(
        "",
        description="What one token was worth in the invoice currency, or in US dollars if the invoice is in the token",
    )
    rateSource: RateSource = Field(RateSource.UNKNOWN, description="Who gave the rate")
    timestamp: str = Field(description="When it was paid")


class Breakdown(Output):
    """What was paid in parts, and what is left. Amounts are in the invoice currency."""

    paidAmount: str = Field(description="What its payments count")
    paidAmountInUsd: str = Field("", description="When it was paid; absent if it is not known")
    remainingAmount: str = Field(description="What is left")
    remainingAmountInUsd: str = Field("", description="At the rate of now; absent if it is not known")
    currentMarketRate: str = Field("", description="As conversionRate, now; absent, as the next, if not known")
    currentMarketRateSource: RateSource = Field(RateSource.UNKNOWN, description="Who gives it")
    payments: list[BreakdownPayment] = Field(description="By time")


class PaidFee(Output):
    type: Literal["platform", "crypto-to-fiat"] = Field(
        description="The fee that the merchant's platform asked for, or that of the off-ramp provider"
    )
    provider: str = Field(description="Who asked for it, as the deployment is configured")
    amount: str = Field(description="In units of the token")
    currency: str = Field(description="The symbol of the token")


class OfframpAnswer(Output):
    """The provider's order to send what was paid to a bank account."""

    offrampId: str = Field(description="As in the events payment.processing")
    providerId: str = Field(description="The provider's own id")
    status: str = Field(description="As the provider last told it, such as ongoing_checks or fiat_sent")
    failureReason: str = Field("", description="A code of the provider; absent if it gives none")
    fee: str = Field(description="What the provider keeps, in units of the token")
    paymentDetailsId: str | None = Field(description="The bank account; null for a client id alone, which is public")
    updatedAt: str = Field(description="Since when it has this status")

    @classmethod
    def of(cls, order: Order, shows_customer: bool) -> Self:
        return cls.from_record(
            order,
            offrampId=order.order_id,
            status=order.provider_status,
            **without_none({"failureReason": order.reason}),
            paymentDetailsId=order.details_id if shows_customer else None,
            updatedAt=iso(order.changed_at),
        )


class ExecutionAnswer(Output):
    """A payment that its payer has signed and the service makes."""

    paymentIntentId: str = Field(description="As `/pay` returned it")
    status: Literal["pending", "settled", "partial", "refunded", "failed"] = Field(
        description="pending: it is being made, and the request cannot be paid otherwise; partial: the payer has the "
        "tokens on the request's network; refunded: on the one that they came from; failed: nothing was taken"
    )


class RequestAnswer(Output):
    """A request: what is owed, what is paid of it, and in which payments."""

    requestId: str
    paymentReference: str
    hasBeenPaid: bool = Field(description="If it is paid out to a bank account: whether the fiat was sent")
    createdAt: str = Field(json_schema_extra={"format": "date-time"})
    isListening: bool = Field(description="Whether it is unpaid, and can be paid through a link or calldata of it")
    status: Literal["created", "partially_paid", "paid", "cancelled", "processing", "failed"] = Field(
        description="processing: paid, and the fiat is not sent yet; failed: the provider sends no fiat"
    )
    txHash: str | None = Field(description="The transaction that completed it; null until it is paid")
    payee: str | None = Field(description="null until the bank account is chosen that it is paid out to")
    payeeName: PayeeNameAnswer = Field(
        default_factory=unsent, description="Absent unless the payee was given by a name of ENS"
    )
    requestAmount: str = Field(description="What was asked for, in the invoice currency")
    acceptedAmount: str = Field(
        "",
        description="What its owner has accepted as full payment, in the invoice currency: so much is owed, and not "
        "requestAmount; absent if nothing was accepted",
    )
    acceptedAt: str = Field("", description="When that was accepted; absent if nothing was")
    invoiceCurrency: str = Field(description="A currency id")
    paymentCurrency: str = Field(description="The id of the token that is paid")
    paidAmount: str = Field(description="What its payments count, in the invoice currency")
    receivedAmount: str = Field(description="What reached the payee, in units of the token")
    refundedAmount: str = Field(description="What of that was returned, in units of the token")
    excessAmount: str | None = Field(description="What is paid too much, in the invoice currency; null if nothing is")
    payerAddress: str | None = Field(
        description="Who has paid, by the word of one node; null if nobody or several have"
    )
    payments: list[PaymentItem] = Field(description="Its payments that count, by time")
    reference: str | None = Field(description="Your own name for it, or for its link")
    customerInfo: CustomerInfoAnswer | None = Field(
        description="null for a client id alone, which is public, and for an orchestrator unless it made the request"
    )
    recurrence: RecurrenceAnswer | None = Field(None, description="Absent if it has none")
    isRecurrenceStopped: bool
    originalRequestId: str = Field("", description="Absent if it was not given")
    originalRequestPaymentReference: str = Field("", description="Absent if it was not given")
    isCryptoToFiatAvailable: bool = Field(description="Whether it may be paid out to a bank account")
    execution: ExecutionAnswer | None = Field(
        None, description="The last payment of it that its payer has signed; absent if there was none"
    )
    crosschainIntents: list[CrosschainIntentAnswer] = Field(
        default_factory=unsent, description="Payments from other chains that were announced; absent without any"
    )
    offramp: OfframpAnswer | None = Field(None, description="Of a request that is; otherwise absent")
    amountInUsd: str | None = Field(
        description="What it was paid with, at the rates of its payments, and what is left, at the rate of now; null "
        "if that is not known"
    )
    conversionRate: str | None = Field(
        description="What one token is worth in the invoice currency, or in US dollars if the invoice is in the token: "
        "by the rate of its only payment, or of now while it is unpaid"
    )
    rateSource: RateSource = Field(RateSource.UNKNOWN, description="Who gave the rates; absent without one")
    conversionBreakdown: Breakdown | None = Field(description="null unless a part or several payments are paid")
    fees: list[PaidFee] = Field(description="What reached the fee address; empty while it is unpaid")
    detectionSource: str | None = Field(description="Who found its payments: this service; null without any")
    note: str | None = Field(description="The merchant's own text; null without one, and for a client ID alone")
    plainTransfer: PlainTransferAnswer = Field(
        default_factory=unsent, description="Its address for plain transfers; absent if it has none"
    )
    isCommercePayment: Literal[True] = Field(
        default_factory=unsent, description="Present if it is a commerce payment, which has a status of its own"
    )
