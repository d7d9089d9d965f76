"""Models of secure payment links."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, field_validator, model_validator

from chalicelib.base.urls import SENT_WEB_URL, WEB_URL, ascii_url, is_url
from chalicelib.chains.catalogue.interop import Destination, destination_id, interop_address
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.links.bridge_transfers import answer_bridge_transfers
from chalicelib.payments.links.creation import Draft
from chalicelib.payments.links.fees.rules import plan_of
from chalicelib.payments.links.fees.schemas import FeePlanAnswer, fee_plan_or_null
from chalicelib.payments.links.records import Link, LinkStatus, Payable, PayableLink
from chalicelib.payments.links.sent_transactions import SentOutcome, answer_sent
from chalicelib.payments.requests.names.schemas import PayeeNameAnswer, name_answer
from chalicelib.payments.requests.plain_transfers.schemas import (
    PLAIN_TRANSFER,
    PlainTransferAnswer,
    plain_transfer_field,
)
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.http import fields
from chalicelib.platform.http.client_choice import ClientChoice
from chalicelib.platform.http.schemas import Input, Output, rule, unsent


class DestinationAnswer(Output):
    destinationId: str
    payeeAddress: str
    tokenAddress: str
    walletAddress: str
    network: str


class CoinAnswer(Output):
    name: str
    symbol: str
    decimals: int


class ChainAnswer(Output):
    """The network as wallets need it; append a transaction hash to `explorerUrl` for the transaction's page."""

    chainId: int
    name: str
    label: str
    confirmations: int
    explorerUrl: str
    publicRpcUrls: list[str]
    nativeCurrency: CoinAnswer


_SAFE_LABEL = r"^[^<>&\x22\x27`]*$"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


class RequestItem(Input):
    """Either `destinationId`, or `payee` with `invoiceCurrency` and `paymentCurrency`."""

    model_config = ConfigDict(
        json_schema_extra=fields.together(
            {
                "payee": ["invoiceCurrency", "paymentCurrency"],
                "invoiceCurrency": ["payee", "paymentCurrency"],
                "paymentCurrency": ["payee", "invoiceCurrency"],
            },
            excludes={"destinationId": ["payee", "invoiceCurrency", "paymentCurrency"]},
        )
    )

    amount: fields.Amount = Field(description="Human-readable decimal amount, greater than 0")
    destinationId: fields.DestinationId | None = Field(None, description="ERC-7828 id: {interopAddress}:{tokenAddress}")
    payee: fields.Payee | None = Field(
        None, description="Who is paid, on the currency's network: by address or by a name of ENS"
    )
    invoiceCurrency: fields.CurrencyId | None = Field(
        None, description="The currency of the amount: a token, or a fiat code such as USD"
    )
    paymentCurrency: fields.CurrencyId | None = Field(None, description="Which token is paid")

    def item(self) -> Item:
        return Item(self.amount, self.destinationId, self.payee, self.invoiceCurrency, self.paymentCurrency)


_REDIRECT = {"redirectLabel": ["redirectUrl"]}


class Redirect(Input):
    """Where the hosted page's button leads after success."""

    model_config = ConfigDict(json_schema_extra=fields.together(_REDIRECT))

    redirectUrl: Annotated[str, fields.form(SENT_WEB_URL, "web-url")] | None = Field(
        None, description="An http(s) URL without a user name; kept with what is not ASCII encoded"
    )
    redirectLabel: Annotated[fields.ShortText, fields.form(_SAFE_LABEL)] | None = Field(
        None, description="The text on the button"
    )

    @field_validator("redirectUrl")
    @classmethod
    def _safe_url(cls, value: str | None) -> str | None:
        if value is not None and not _SCHEME.match(value):
            raise rule("must be a complete address that begins with https://, such as https://shop.example/thanks")
        url = ascii_url(value) if value is not None else None
        if url is not None and not is_url(url, WEB_URL):
            raise rule("must be a safe http(s) URL with no script/HTML payload")
        return url

    @field_validator("redirectLabel")
    @classmethod
    def _safe_label(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(_SAFE_LABEL, value):
            raise rule("must not contain <, >, &, \", ' or a backtick")
        return value

    @model_validator(mode="after")
    def _label_needs_url(self) -> Self:
        if self.redirectLabel is not None and self.redirectUrl is None:
            raise rule("cannot be provided without redirectUrl", "redirectLabel")
        return self


class AccessPolicy(Input):
    """Not supported: refused if it would restrict who can pay or what is visible."""

    mode: Annotated[str, fields.form(enum=["inherit", "off"])] | None = Field(None, description="inherit or off")
    hideUntilApproved: Annotated[StrictBool, fields.form(const=False)] | None = Field(None, description="Only false")
    hidePayeeAddress: Annotated[StrictBool, fields.form(const=False)] | None = Field(None, description="Only false")
    allowedPayerAddresses: Annotated[list[str], fields.form(maxItems=0)] | None = Field(None, description="Only empty")

    @model_validator(mode="after")
    def _restricts_nobody(self) -> Self:
        hides = self.hideUntilApproved or self.hidePayeeAddress
        if self.mode not in (None, "inherit", "off") or hides or self.allowedPayerAddresses:
            raise rule("is not offered: every wallet may pay. Leave it out, or send the mode off")
        return self


class NewLink(ClientChoice, Redirect):
    """The optional fields that all kinds of links share."""

    model_config = ConfigDict(json_schema_extra=fields.together({**_REDIRECT, "feePercentage": ["feeAddress"]}))

    @property
    def items_written(self) -> int:
        return 1

    feePercentage: fields.Percentage | None = Field(None, description="Decimal from 0 to 100; the fee is paid on top")
    feeAddress: fields.Recipient | None = Field(None, description="Required when feePercentage is set")
    reference: fields.OwnName = Field(
        None, description="Your own name for it, such as an invoice number; empty is none"
    )
    expiresAt: fields.Instant | None = Field(None, description="When it can no longer be paid: in the future")
    accessPolicy: AccessPolicy | None = None

    def link_draft(self, **others: Any) -> Draft:
        """The wanted link, with `others` of its fields."""
        return self.plain(Draft, expires_at=fields.parse_instant(self.expiresAt), **others)


class CreateSecurePayment(NewLink):
    """A link that pays the merchant: single with one entry in `requests`, else a batch on one EVM network."""

    requests: Annotated[list[RequestItem], Field(min_length=1, max_length=200)] = Field(
        description="What is paid to whom; several entries make a batch"
    )
    payerIdentifier: fields.OwnName = Field(None, description="Your own name for the payer; empty is none")
    plainTransfer: StrictBool | None = Field(None, description=f"{PLAIN_TRANSFER}. For one entry in `requests`")

    @property
    def items_written(self) -> int:
        return len(self.requests)

    def draft(self) -> Draft:
        return self.link_draft(items=tuple(each.item() for each in self.requests))


class PreviewSecurePayment(CreateSecurePayment):
    """A link as `POST /v2/secure-payments` creates it."""

    @property
    def items_written(self) -> int:
        return 1


class UpdateSecurePayment(Input):
    expiresAt: fields.Instant = Field(description="When it can no longer be paid: in the future")

    @property
    def expires_at(self) -> datetime:
        return datetime.fromisoformat(self.expiresAt).astimezone(UTC)


class SecurePaymentUpdated(Output):
    token: str
    expiresAt: str


class Branding(Output):
    whitelabelEnabled: bool
    source: Literal["client_id", "service"]


class HeldAnswer(Output):
    """Tokens that the payer got back."""

    amount: str = Field(description="In units of the token")
    currency: str = Field(description="The symbol of the token")
    network: str = Field(description="Where they are")
    walletAddress: str = Field(description="Who has them")


class CrosschainIntentAnswer(Output):
    """A payment from another chain that was announced for the link: where its money is, by what both chains prove."""

    intentId: str = Field(description="As it was announced")
    status: Literal[
        "pending", "unknown", "refunding", "settled", "partial", "refunded", "failed", "replaced", "lapsed"
    ] = Field(
        description="The first three are open, and lock the link. unknown: nobody has the transaction, or its time has "
        "passed; refunding: the bridge has to return it; partial: the payer has the tokens on the link's network; "
        "refunded: on the source's; lapsed: withdrawn, or the source chain would refuse it now"
    )
    stage: Literal["source", "bridge", "refunding", "destination", "returned"] = Field(description="Where the money is")
    since: str = Field(description="Since when, ISO 8601 in UTC")
    sourceNetwork: str = Field(description="The network that is paid from")
    sourceTxHash: str | None = Field(description="The transaction of the payer")
    safeTxHash: str | None = Field(description="The Safe transaction, if it was announced by its hash")
    destinationNetwork: str = Field(description="The network of the payment")
    destinationTxHash: str | None = Field(description="The transaction of the bridge that paid or failed to")
    refundTxHash: str | None = Field(description="On the source network")
    bridgeTool: str | None = Field(description="As it was announced")
    payerAddress: str | None = Field(description="Who deposited it; before that is known, as it was announced")
    executionDeadline: str | None = Field(description="Until when the source chain accepts it")
    fillDeadline: str | None = Field(description="Until when it can arrive")
    failureReason: str | None = Field(description="Why it did not pay")
    held: HeldAnswer | None
    isSurplus: bool = Field(description="Whether it arrived after the request was paid: the payee is to return it")


class SentTransactionAnswer(Output):
    """A transaction that was sent to pay the link, with what became of it."""

    txHash: str = Field(description="As its network writes it: without 0x on Tron")
    network: str = Field(description="The network of the transaction, which is that of the link")
    status: Literal["counted", "surplus", "waiting", "unknown"] = Field(
        description="waiting: it can still pay the link, which is then paid twice if it is paid otherwise; surplus: it "
        "paid more than was due, and the payee is to return that; unknown: no payment by it is recorded"
    )
    excessAmount: str | None = Field(None, description="Of a surplus, in `currency`")
    currency: str | None = Field(None, description="The invoice currency")


def answers_of_sent(sent: Iterable[SentOutcome]) -> list[SentTransactionAnswer]:
    return [SentTransactionAnswer(**answer_sent(each)) for each in sent]


def crosschain_answers(payable: Payable, request: Request | None = None) -> list[CrosschainIntentAnswer]:
    """The payments from other chains that were announced for a link, or for one request of it."""
    is_one_of_several = request is not None and len(payable.requests) > 1
    references = [request.payment_reference] if request is not None and is_one_of_several else None
    return [CrosschainIntentAnswer(**each) for each in answer_bridge_transfers(payable.announcements, references)]


class SecurePaymentFound(Output):
    """The link of a request, as its owner sees it; fields that this service does not support are empty."""

    token: str
    securePaymentUrl: str
    status: LinkStatus
    paymentType: Literal["single", "batch"]
    createdAt: str
    expiresAt: str
    redirectUrl: str | None
    redirectLabel: str | None
    completedAt: str | None
    payerAddress: str | None = Field(description="Always null: each request says who has paid it")
    payerKytResults: list[dict[str, Any]]
    payeeKytResults: list[dict[str, Any]]
    destination: DestinationAnswer | None = Field(description="null for payouts, and where the payees are several")
    claimedDestination: DestinationAnswer | None
    orchestratorId: str | None
    feePlan: FeePlanAnswer | None
    network: str
    currency: str | None = Field(description="null where a batch has several")
    executionKind: str | None
    identityMode: Literal["manual_dashboard", "client_id"]
    clientId: str | None
    branding: Branding
    childExecutable: bool = Field(description="Whether a multicall could take it now")
    blockReason: str | None


class SecurePaymentCreated(Output):
    requestIds: list[str]
    securePaymentUrl: str
    token: str
    feePlan: FeePlanAnswer | None = Field(
        description="null unless all amounts are in US dollars, or in one dollar token"
    )
    payeeNames: list[PayeeNameAnswer] = Field(
        default_factory=unsent,
        description="The names by which payees were given, with what they were resolved to, in the order of the body; "
        "absent without any",
    )
    plainTransfer: PlainTransferAnswer = Field(
        default_factory=unsent, description="Its address for plain transfers; absent if it has none"
    )

    @classmethod
    def of(cls, payable: PayableLink, pay_url: str) -> Self:
        names = [name for name in map(name_answer, payable.requests) if name is not None]
        extra: dict[str, Any] = {"payeeNames": names} if names else {}
        if len(payable.requests) == 1:
            extra |= plain_transfer_field(payable.requests[0])
        return cls(
            requestIds=[request.request_id for request in payable.requests],
            securePaymentUrl=page_url(payable.link, pay_url),
            token=payable.link.token,
            feePlan=fee_plan_or_null(plan_of(payable)),
            **extra,
        )


def chain_answer(name: str, confirmations: Mapping[str, int]) -> ChainAnswer:
    """The network of that name; `confirmations` are the deployment's own, by network."""
    chain = require_network(name)
    return ChainAnswer.from_record(
        chain,
        name=chain.title,
        confirmations=confirmations.get(chain.name, chain.confirmations),
        nativeCurrency=CoinAnswer.from_record(chain.coin),
    )


def destination_answer(request: Request) -> DestinationAnswer:
    """The payee destination of a request."""
    token = currency_of(request)
    return DestinationAnswer(
        destinationId=destination_id(Destination(request.payee, token.chain_id, token.address)),
        payeeAddress=interop_address(request.payee, token.chain_id),
        tokenAddress=token.address,
        walletAddress=request.payee,
        network=request.network,
    )


def page_url(link: Link, pay_url: str) -> str:
    """The address of a link's payment page."""
    return f"{pay_url}/?token={link.token}"
