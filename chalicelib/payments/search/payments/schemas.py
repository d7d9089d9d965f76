"""Models of the search for payments."""

from collections.abc import Container
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from chalicelib.base.addresses import address_of_log
from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.conversions import FIAT_DECIMALS_ON_CHAIN, on_chain_decimals
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.catalogue.tokens import Token, family_of, find_tokens, require_token, token_with_id
from chalicelib.payments.rates.rules import invert_rate, rate_text
from chalicelib.payments.requests import list_names
from chalicelib.payments.requests.payments.records import Direction, Payment
from chalicelib.payments.requests.payments.schemas import StatedAmount
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import stated_field
from chalicelib.payments.search.payments.records import Filters, Page
from chalicelib.payments.search.requests.list_schemas import ListedWallet
from chalicelib.payments.search.requests.schemas import CustomerInfoAnswer
from chalicelib.payments.search.rules import dollar_rate, dollars_of
from chalicelib.platform.http.fields import DIGITS, ExcelFlag, NetworkName, Offset, ShortText
from chalicelib.platform.http.schemas import Dated, Output, rule, unsent

_FILTERS = (
    "txHash", "walletAddress", "paymentReference", "requestId", "reference", "type", "invoiceCurrency",
    "paymentCurrency", "payer", "payee", "network", "clientId",
)  # fmt: skip
MOST, MOST_ROWS = 100, 5_000
PaymentType = Literal["direct", "conversion", "crosschain", "recurring"]


def _network(name: str) -> str:
    found = find_network(name)
    if found is None:
        raise rule("is not a network of this service: GET /v2/currencies lists them")
    return found.name


ListedNetwork = Annotated[NetworkName, AfterValidator(_network)]
"""A network by its name or an alias, as lists name it."""


class PaymentsQuery(Dated):
    txHash: Annotated[str, Field(pattern="^(0x)?[0-9a-fA-F]{64}$"), BeforeValidator(str.lower)] | None = Field(
        None, description="With or without 0x; finds all payments of the transaction"
    )
    walletAddress: ListedWallet | None = Field(None, description="The payer or the payee")
    paymentReference: Annotated[str, Field(pattern="^0x[0-9a-fA-F]{16}$")] | None = Field(
        None, description="That of one request"
    )
    requestId: Annotated[str, Field(pattern="^[0-9a-fA-F]{66}$")] | None = Field(
        None, description="Finds the payments of one request"
    )
    reference: ShortText | None = Field(None, description="The merchant's own, exactly")
    type: PaymentType | None = Field(None, description="conversion: invoice and payment differ in currency")
    invoiceCurrency: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="A currency's id, or a symbol of several"
    )
    paymentCurrency: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="A currency's id, or a symbol of several"
    )
    payer: ListedWallet | None = Field(None, description="Who paid")
    payee: ListedWallet | None = Field(None, description="Who was paid")
    network: ListedNetwork | None = Field(None, description="Where it was paid")
    clientId: Annotated[str, Field(max_length=64)] | None = Field(None, description="That of the request")
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS), DIGITS] = Field(
        20, description="Payments on a page: 1 to 100; rows of a part of CSV: 1 to 5000, all of them by default"
    )
    offset: Offset = Field(0, description="Payments to pass over; not with `cursor`")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="`nextCursor` of the page before; empty to start without counting"
    )

    excel: ExcelFlag = None

    @field_validator("invoiceCurrency", "paymentCurrency")
    @classmethod
    def _currency(cls, text: str | None) -> str | None:
        if text is not None and token_with_id(text) is None and not find_tokens(symbol=text):
            raise rule("is not a currency of this service: send an id or a symbol of GET /v2/currencies")
        return text

    @property
    def has_filter(self) -> bool:
        return any(getattr(self, name) is not None for name in _FILTERS)

    def filters(self, account_id: str, client_id: str | None, request_id: str | None) -> Filters:
        """The search in an account. The currency of a text that is an id is found by it, else those of the symbol."""
        invoice, paid = token_with_id(self.invoiceCurrency or ""), token_with_id(self.paymentCurrency or "")
        return self.plain(
            Filters,
            account_id=account_id,
            request_id=request_id,
            tx_hash=list_names.transaction(self.txHash) if self.txHash else None,
            wallet=self.walletAddress,
            client_id=client_id,
            invoice_currency=invoice.id if invoice else None,
            invoice_symbol=self.invoiceCurrency.upper() if self.invoiceCurrency and not invoice else None,
            currency=paid.id if paid else None,
            symbol=self.paymentCurrency.upper() if self.paymentCurrency and not paid else None,
            first=self.first,
            last=self.last,
        )


class PaymentFeeAnswer(Output):
    """A fee that was paid on top of the payment, in the same token."""

    type: str
    stage: str
    provider: str
    amount: str = Field(description="In whole units of the token")
    amountInUSD: str = Field(
        default_factory=unsent, description="In US dollars when it was paid; absent, as `rateProvider`, if not known"
    )
    currency: str = Field(description="The symbol of the token")
    receiverAddress: str
    network: str
    rateProvider: str = Field(default_factory=unsent, description="Who gave the rate of dollars")


class PaidRequestAnswer(Output):
    requestId: str
    paymentReference: str
    hasBeenPaid: bool
    customerInfo: CustomerInfoAnswer | None
    reference: str | None


class PaymentAnswer(Output):
    """One payment, or one refund, whose amounts are negative: so sums of amounts are what is left.

    `amount` is what moved; the status of a request has under that name what it counts.
    """

    id: str
    direction: Direction = Field(description="in: the payee received it; out: it was returned, so amounts are negative")
    amount: str = Field(
        description="What was paid, in whole units of the token (`paymentCurrency`), without the fee. What it counts "
        "for the request is `convertedAmountDestination`, or the same if that is null. In `payments` of "
        "`GET /v2/request/{requestId}` `amount` is what it counts, in the invoice currency, and `paidAmount` is this"
    )
    isPayout: bool = Field(description="Whether you have paid it, and were not paid")
    statedAmount: StatedAmount
    sourceNetwork: str
    destinationNetwork: str
    sourceTxHash: str | None
    destinationTxHash: str | None
    timestamp: str = Field(json_schema_extra={"format": "date-time"}, description="The time of the block")
    type: str
    conversionRateSource: str | None = Field(description="What one of the invoice currency was in the payment currency")
    conversionRateDestination: str | None = Field(description="The inverse of it")
    convertedAmountSource: str | None = Field(
        description="The same as `amount`; null if the invoice is in the token that was paid"
    )
    convertedAmountDestination: str | None = Field(description="What counted, in the invoice currency")
    currency: str = Field(description="The symbol of the invoice currency")
    paymentCurrency: str = Field(description="The symbol of what was paid")
    fees: list[PaymentFeeAnswer]
    recurringPaymentId: str | None
    rateProvider: str = Field(default_factory=unsent, description="Who gave the rate; absent without one")
    request: PaidRequestAnswer
    payer: str | None = Field(description="Who paid, by the word of one node; null if the chain does not tell")
    payee: str


class Pagination(Output):
    total: int = Field(default_factory=unsent, description="Not sent where a list is read from an empty cursor")
    limit: int
    offset: int
    hasMore: bool
    nextCursor: str | None = Field(description="Null on the last page")


class PaymentsPage(Output):
    payments: list[PaymentAnswer]
    pagination: Pagination

    @classmethod
    def of(cls, page: Page, limit: int, provider: str, private: Container[str]) -> Self:
        """`private` are the ids of the requests whose customers are shown."""
        paging: dict[str, Any] = {"limit": limit, "offset": page.offset, "hasMore": page.cursor is not None}
        if page.total is not None:
            paging["total"] = page.total
        found = [(each, page.requests.get(each.request_id)) for each in page.payments]
        answers = [payment_answer(each, request, provider, each.request_id in private) for each, request in found]
        return cls(payments=answers, pagination=Pagination(**paging, nextCursor=page.cursor))


def payment_answer(payment: Payment, request: Request | None, provider: str, shows_customer: bool) -> PaymentAnswer:
    """A payment; `request` is that which it pays."""
    token, invoice = require_token(payment.currency), require_token(payment.invoice_currency)
    amount = format_signed(payment, format_amount(payment.amount, token.decimals))
    rate, value = payment.rate, invoice_amount(payment)
    info = request.customer_info if request is not None and shows_customer else None
    return PaymentAnswer.from_record(
        payment,
        id=payment.payment_id,
        amount=amount,
        destinationNetwork=payment.network,
        sourceTxHash=payment.source_hash,
        destinationTxHash=payment.tx_hash if payment.origin is not None else None,
        timestamp=iso(payment.at),
        conversionRateSource=rate_text(rate) if rate else None,
        conversionRateDestination=rate_text(invert_rate(rate)) if rate else None,
        convertedAmountSource=amount if invoice != token else None,
        convertedAmountDestination=value if invoice != token else None,
        currency=invoice.symbol,
        paymentCurrency=token.symbol,
        fees=_fees(payment, token, provider),
        request=PaidRequestAnswer.from_record(
            payment,
            hasBeenPaid=request is not None and request.is_settled,
            customerInfo=CustomerInfoAnswer.of(info) if info is not None else None,
        ),
        **stated_field(payment, token),
        **({"rateProvider": provider_of(rate.source)} if rate is not None else {}),
    )


def invoice_amount(payment: Payment) -> str:
    """What counts of a payment, in its invoice currency; negative for a refund."""
    return format_signed(
        payment, format_amount(payment.value, on_chain_decimals(require_token(payment.invoice_currency)))
    )


def format_signed(payment: Payment, amount: str) -> str:
    """An amount of a payment, negative for a refund."""
    return f"-{amount}" if payment.direction is Direction.OUT and amount.strip("0.") else amount


def fee_address(payment: Payment, token: Token) -> str:
    """Where the fee went, in EIP-55 or base58; the payment has it as it is in logs."""
    return address_of_log(payment.fee_address, family_of(token))


def provider_of(source: str) -> str:
    """A source of rates as clients know it."""
    return next((name for name in ("chainlink", "coingecko", "lifi") if name in source.lower()), "unknown")


def _fees(payment: Payment, token: Token, provider: str) -> list[PaymentFeeAnswer]:
    if not payment.fee_amount:
        return []
    amount = format_amount(payment.fee_amount, token.decimals)
    rate, fee_dollars = dollar_rate(payment), dollars_of(payment.fee_amount, payment)
    known: dict[str, Any] = {}
    if rate is not None and fee_dollars is not None:
        in_dollars = format_amount(fee_dollars, FIAT_DECIMALS_ON_CHAIN)
        known = {"amountInUSD": in_dollars, "rateProvider": provider_of(rate.source)}
    fee = PaymentFeeAnswer(
        type="platform",
        stage="sending",
        provider=provider,
        amount=amount,
        currency=token.symbol,
        receiverAddress=fee_address(payment, token),
        network=payment.network,
        **known,
    )
    return [fee]
