"""Models of links as payers see them; base units become human-readable amounts here."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.accounts.branding.schemas import LinkBranding
from chalicelib.accounts.domains.schemas import MerchantAnswer
from chalicelib.base.addresses import evm_address, tron_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.bridges import source_networks
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.checkout.flows import Description
from chalicelib.commerce.service.terms import CommerceFacts, commerce_facts
from chalicelib.crosschain.service.sources.balances import Sources, tokens_of
from chalicelib.crosschain.service.sources.rules import on_source
from chalicelib.payments.links import schemas
from chalicelib.payments.links.fees.rules import plan_of
from chalicelib.payments.links.fees.schemas import FeePlanAnswer, fee_plan_or_null
from chalicelib.payments.links.records import PayableLink, PaymentType
from chalicelib.payments.links.sent_transactions import MAX_ASKED
from chalicelib.payments.payable.rules import Position
from chalicelib.payments.requests.names.schemas import shown_name
from chalicelib.payments.requests.plain_transfers.schemas import PlainTransferAnswer, plain_transfer_field
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of, remaining
from chalicelib.platform.http.fields import Address, EvmAddress
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

_PLURAL = {
    "invoiceCurrency": "invoiceCurrencies",
    "paymentCurrency": "paymentCurrencies",
    "invoiceDecimals": "invoiceDecimals",
    "decimals": "decimals",
    "isNativeCurrency": "isNativeCurrency",
}
"""The names of a batch's lists of what a link of one payment has once, where they do not only end with s."""
_HASHES = rf"^(0x)?[a-fA-F0-9]{{64}}(,(0x)?[a-fA-F0-9]{{64}}){{0,{MAX_ASKED - 1}}}$"


def wallet_address(value: str) -> str:
    """The address of a wallet in its normal form. Raises a validation error for another text."""
    on_tron = value.startswith("T")
    try:
        return tron_address(value) if on_tron else evm_address(value)
    except BadRequest:
        raise rule(f"Invalid {'Tron' if on_tron else 'Ethereum'} address") from None


def _evm_wallet(value: str) -> str:
    try:
        return evm_address(value)
    except BadRequest:
        raise rule("Invalid Ethereum address") from None


Wallet = Annotated[Address, AfterValidator(wallet_address)]
EvmWallet = Annotated[EvmAddress, AfterValidator(_evm_wallet)]


class WalletQuery(Input):
    wallet: Wallet | None = Field(None, description="The payer's wallet")


class LinkQuery(WalletQuery):
    sent: Annotated[str, StringConstraints(pattern=_HASHES)] | None = Field(
        None,
        description=(
            f"Hashes of at most {MAX_ASKED} transactions that the caller has sent for the link, separated by commas: "
            "once it is paid, `sentTransactions` says what became of them"
        ),
    )

    @property
    def hashes(self) -> tuple[str, ...]:
        return tuple(self.sent.split(",")) if self.sent is not None else ()


class PaymentOption(Output):
    """One token in the payer's wallet."""

    balance: str
    hasEnoughBalance: bool = Field(description="Whether `balance` reaches `neededAmount`")
    neededAmount: str = Field(
        description="What is due with its fee. From another chain the quote of `/pay` adds the cost of the route"
    )


class LinkAnswer(Output):
    """The fields of every link; never calldata. The fee is a percentage of each amount, paid on top to one address."""

    status: str = Field(
        description="pending: only a link that can be paid is answered with 200, or a commerce payment that is held"
    )
    network: str = Field(description="Of all its requests")
    chain: schemas.ChainAnswer
    reference: str | None = Field(description="The merchant's own name for it")
    requestIds: list[str] = Field(description="Its requests")
    redirectUrl: str | None = Field(description="Where the payment page leads afterwards")
    redirectLabel: str | None = Field(description="The text on that button")
    createdAt: str = Field(description="ISO 8601 in UTC")
    expiresAt: str = Field(description="When it can no longer be paid")
    branding: LinkBranding | None
    merchant: MerchantAnswer | None = Field(
        description="Who asks for it, if the owner of the client id has set a domain; null of a payout"
    )
    feePercentage: str | None = Field(description="Of each amount, on top of it")
    feeAddress: str | None = Field(description="Who receives the fee")
    feePlan: FeePlanAnswer | None
    paymentOptions: dict[str, dict[str, PaymentOption]] | None = Field(
        None,
        description="With `wallet`: what it has and needs, by network label and token symbol. On Tron also without: "
        "then what a wallet needs that has nothing, unless a rate would have to be held for it",
    )
    crosschainIntents: list[schemas.CrosschainIntentAnswer] = Field(
        default_factory=unsent, description="Payments from other chains that did not pay it; absent without any"
    )
    sentTransactions: list[schemas.SentTransactionAnswer] = Field(
        default_factory=unsent,
        description=(
            "Transactions that can still pay the link, though they do not lock it any more; or of a link that is paid, "
            "what became of those asked for with `sent`, and others that paid too much. Absent without any"
        ),
    )
    unavailableChains: list[str] | None = Field(
        None,
        description=(
            "With `wallet`, of a link that can be paid from several chains: those whose nodes did not answer in time. "
            "`paymentOptions` says nothing of them"
        ),
    )


class SecurePaymentAnswer(LinkAnswer):
    """A link of one payment, as a payer sees it."""

    paymentType: Literal["single"]
    payee: str
    payeeName: str = Field(default_factory=unsent, description="A name by which the payee named itself; else absent")
    amount: str = Field(description="In the invoice currency, as what is paid and what is left of it")
    invoiceCurrency: str
    invoiceDecimals: int = Field(description="Of the invoice currency, as contracts count it: 8 of fiat")
    paymentCurrency: str
    isNativeCurrency: bool
    decimals: int = Field(description="Of the payment currency")
    paymentReference: str
    destination: schemas.DestinationAnswer
    paidAmount: str
    remainingAmount: str
    commerce: CommerceFacts | None = Field(None, description="Of a commerce payment: who may take how much until when")
    plainTransfer: PlainTransferAnswer = Field(
        default_factory=unsent, description="Its address for plain transfers; absent if it has none"
    )
    gasless: Literal[True] = Field(
        default_factory=unsent,
        description="Its payer may need no coin: ask `/pay` with `gasless=true`, which says what the network costs "
        "then, or that this token cannot be paid so; else absent",
    )


class BatchPaymentAnswer(LinkAnswer):
    """A link of several payments; the lists are in the order of the requests."""

    paymentType: Literal["batch"] = Field(description="batch")
    payees: list[str] = Field(description="Who are paid")
    payeeNames: list[str | None] = Field(
        default_factory=unsent, description="Names by which payees named themselves; absent if none did"
    )
    amounts: list[str] = Field(description="What each is owed, in its invoice currency")
    invoiceCurrencies: list[str] = Field(description="The currencies of the amounts")
    invoiceDecimals: list[int] = Field(description="Of them, as contracts count them: 8 of fiat")
    paymentCurrencies: list[str] = Field(description="The tokens that are paid")
    isNativeCurrency: list[bool] = Field(description="Whether it is the network's own coin")
    decimals: list[int] = Field(description="Of the payment currencies")
    paymentReferences: list[str] = Field(description="The references in the calldata")
    destinations: list[schemas.DestinationAnswer] = Field(description="Where each is paid")
    paidAmounts: list[str] = Field(description="What is paid of each")
    remainingAmounts: list[str] = Field(description="What is left of each")


def secure_payment_answer(
    description: Description, confirmations: Mapping[str, int]
) -> SecurePaymentAnswer | BatchPaymentAnswer:
    """The metadata of a link; with a wallet's balances, `paymentOptions` for its own network.

    `confirmations` are the deployment's own, by network.
    """
    payable = description.payable
    facts = {**_link_facts(payable), **_payment_options(description)}
    facts["chain"] = schemas.chain_answer(payable.requests[0].network, confirmations)
    facts["branding"] = LinkBranding.of(description.branding)
    facts["merchant"] = MerchantAnswer.of(description.merchant)
    if bridge_transfers := schemas.crosschain_answers(payable):
        facts["crosschainIntents"] = bridge_transfers
    if description.sent:
        facts["sentTransactions"] = schemas.answers_of_sent(description.sent)
    if payable.link.payment_type is PaymentType.SINGLE:
        if payable.commerce is not None and description.commerce is not None:
            facts["commerce"] = commerce_facts(payable.commerce, description.commerce)
        if description.is_gasless:
            facts["gasless"] = True
        request = payable.requests[0]
        of_request = {**_request_facts(request), **shown_name(request), **plain_transfer_field(request)}
        return SecurePaymentAnswer.from_record(payable.link, paymentType="single", **of_request, **facts)
    names = [shown_name(request).get("payeeName") for request in payable.requests]
    if any(names):
        facts["payeeNames"] = names
    each = [_request_facts(request) for request in payable.requests]
    lists = {_PLURAL.get(name, f"{name}s"): [one[name] for one in each] for name in each[0]}
    return BatchPaymentAnswer.from_record(payable.link, paymentType="batch", **lists, **facts)


def _link_facts(payable: PayableLink) -> dict[str, Any]:
    link = payable.link
    return {
        "status": link.status.value,
        "network": payable.requests[0].network,
        "requestIds": [request.request_id for request in payable.requests],
        "feePlan": fee_plan_or_null(plan_of(payable)),
    }


def _request_facts(request: Request) -> dict[str, Any]:
    token, invoice = currency_of(request), invoice_of(request)
    return {
        "payee": request.payee,
        "amount": amount_text(request.amount, request),
        "invoiceCurrency": invoice.id,
        "invoiceDecimals": on_chain_decimals(invoice),
        "paymentCurrency": token.id,
        "isNativeCurrency": token.is_native,
        "decimals": token.decimals,
        "paymentReference": request.payment_reference,
        "destination": schemas.destination_answer(request),
        "paidAmount": amount_text(request.paid, request),
        "remainingAmount": amount_text(remaining(request), request),
    }


def _payment_options(description: Description) -> dict[str, Any]:
    """By chain label and token symbol; absent without a wallet."""
    if description.sources is not None:
        return _source_options(description.positions[0], description.sources)
    holdings, checkout = description.holdings, description.checkout
    if holdings is None or checkout is None:
        return {}
    chain = require_network(description.payable.requests[0].network)
    options = {}
    for token, debit in checkout.debits.items():
        balance = holdings.balance_of(token)
        options[token.symbol] = PaymentOption(
            balance=format_amount(balance, token.decimals),
            hasEnoughBalance=balance >= debit,
            neededAmount=format_amount(debit, token.decimals),
        )
    return {"paymentOptions": {chain.label: options}}


def _source_options(position: Position, sources: Sources) -> dict[str, Any]:
    """The token that is due on its own network, and every token that pays it from another one."""
    due, options = position.due, dict[str, dict[str, PaymentOption]]()
    for chain in source_networks():
        tokens = [due.token] if chain.name == due.token.network else tokens_of(chain)
        for token in tokens if chain.name in sources.holdings else ():
            balance = sources.holdings[chain.name].balance_of(token)
            needed = on_source(due.debit, due.token, token)
            options.setdefault(chain.label, {})[token.symbol] = PaymentOption(
                balance=format_amount(balance, token.decimals),
                hasEnoughBalance=balance >= needed,
                neededAmount=format_amount(needed, token.decimals),
            )
    return {"paymentOptions": options, "unavailableChains": list(sources.unavailable)}
