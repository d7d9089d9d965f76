"""Models of receipts."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.books.receipts.flows import Paid
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.events import without_none
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.rates.rules import rate_text
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of
from chalicelib.payments.search.payments.schemas import fee_address
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.http.schemas import Output, unsent


class ReceiptRate(Output):
    """How a payment in another currency was valued."""

    rate: str = Field(description="What one unit of the invoice currency was, in the token")
    source: RateSource = Field(description="Who gave it")
    at: str = Field(description="Of when it is, ISO 8601 in UTC")

    @classmethod
    def of(cls, rate: Rate) -> Self:
        return cls(rate=rate_text(rate), source=rate.source, at=iso(rate.at))


class ReceiptPayment(Output):
    """One payment."""

    paidAt: str = Field(description="The time of its block, ISO 8601 in UTC")
    amount: str = Field(description="What the payee got, in the token")
    currency: str = Field(description="The id of the token")
    countedAmount: str = Field(description="What it counts, in the invoice currency")
    rate: ReceiptRate = Field(default_factory=unsent, description="Absent if the invoice is in the token")
    feeAmount: str = Field(description="What was paid besides to the fee address, in the token")
    feeAddress: str = Field("", description="Who got the fee; absent without one")
    payerAddress: str | None = Field(description="Who paid, by the word of one node; null if the chain does not tell")
    network: str
    transactionHash: str
    transactionUrl: str = Field(description="The transaction at the explorer of its network")

    @classmethod
    def of(cls, payment: Payment, request: Request) -> Self:
        token = currency_of(request)
        return cls(
            paidAt=iso(payment.at),
            amount=format_amount(payment.amount, token.decimals),
            currency=payment.currency,
            countedAmount=amount_text(payment.value, request),
            **without_none({"rate": payment.rate and ReceiptRate.of(payment.rate)}),
            feeAmount=format_amount(payment.fee_amount, token.decimals),
            **without_none({"feeAddress": fee_address(payment, token) if payment.fee_amount else None}),
            payerAddress=payment.payer,
            network=payment.network,
            transactionHash=payment.tx_hash,
            transactionUrl=require_network(payment.network).explorer_url + payment.tx_hash,
        )


class ReceiptMerchant(Output):
    """Who issues it, by the account's own words: nobody has verified them. What the account has not set is absent."""

    name: str = Field("", description="businessName of the account")
    address: str = Field("", description="businessAddress")
    taxId: str = Field("", description="taxId")

    @classmethod
    def of(cls, account: Account | None) -> Self:
        found = {
            "name": account and account.business_name,
            "address": account and account.business_address,
            "taxId": account and account.tax_id,
        }
        return cls(**without_none(found))


class Receipt(Output):
    """What was paid of a request until it was issued. It names no customer: that stays with the merchant."""

    issuer: str = Field(description="The address of the service's API, below which are the keys that signed it")
    isTest: bool = Field(description="Whether it is of test mode, in which nothing is paid")
    issuedAt: str = Field(description="Until when it knows of payments and refunds, ISO 8601 in UTC")
    merchant: ReceiptMerchant
    requestId: str
    paymentReference: str
    reference: str | None = Field(description="The merchant's name for the request, or for its link")
    payee: str = Field(description="Who was paid")
    status: Literal["created", "partially_paid", "paid", "cancelled", "processing", "failed"] = Field(
        description="Of the request: created, if what was paid is not noticeable"
    )
    requestedAmount: str = Field(description="In the invoice currency")
    paidAmount: str = Field(description="What its payments count, in the invoice currency")
    currency: str = Field(description="The id of the invoice currency")
    refundedAmount: str = Field(description="What was returned, in the token that is paid")
    payments: list[ReceiptPayment] = Field(description="By time")

    @classmethod
    def of(cls, paid: Paid, issuer: str, now: datetime, *, is_test: bool) -> Self:
        request = paid.request
        return cls(
            issuer=issuer,
            isTest=is_test,
            issuedAt=iso(now),
            merchant=ReceiptMerchant.of(paid.account),
            requestId=request.request_id,
            paymentReference=request.payment_reference,
            reference=paid.payable.reference_of(request),
            payee=request.payee,
            status=request.shown_status.value,
            requestedAmount=amount_text(request.amount, request),
            paidAmount=amount_text(request.paid, request),
            currency=invoice_of(request).id,
            refundedAmount=format_amount(request.refunded, currency_of(request).decimals),
            payments=[ReceiptPayment.of(each, request) for each in paid.payments],
        )


class SignedReceipt(Output):
    """A receipt, and the same signed: whoever has `jws` verifies it without asking anybody."""

    receipt: Receipt
    jws: str = Field(
        description="A JSON Web Signature (RFC 7515, compact) of the receipt with Ed25519 (RFC 8037), by a key of "
        "GET /.well-known/jwks.json"
    )


class ReceiptsOfLink(Output):
    """The receipts of a link, one for each request of which something was paid."""

    receipts: list[SignedReceipt]
