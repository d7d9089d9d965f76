"""Models of the queries about paying a request, and of their responses."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from chalicelib.base.money import BaseUnits, format_amount, parse_percentage
from chalicelib.chains.catalogue.conversions import FIAT_DECIMALS_ON_CHAIN
from chalicelib.chains.catalogue.networks import Coin, Network, require_network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.requests.flows import DirectRoute
from chalicelib.checkout.requests.rules import FAST_SECONDS, Part, seconds_to_confirm
from chalicelib.checkout.schemas.facts import single_facts, transaction_answers
from chalicelib.checkout.schemas.link import Wallet, WalletQuery, wallet_address
from chalicelib.checkout.schemas.pay import FeeAnswer, FeeFields, PayMetadata, SourceQuery
from chalicelib.crosschain.service.sources.balances import Choice
from chalicelib.crosschain.service.sources.rules import cost_of, gas_in_dollars, on_source
from chalicelib.offramp.service.rules import ChosenAccount
from chalicelib.payments.requests.rules import amount_text
from chalicelib.payments.transactions import TransactionAnswer
from chalicelib.platform.http.fields import Address, Amount, Flag
from chalicelib.platform.http.schemas import Output, rule
from chalicelib.platform.settings import Settings, ValueForm

PersonId = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class PartQuery(FeeFields):
    """What of a request is paid, and with which fee."""

    amount: Amount | None = Field(
        None, description="A part of what is left, in the invoice currency; more than that is lowered to it"
    )

    @property
    def part(self) -> Part:
        return Part(self.amount, self.fee)


class RequestPayQuery(PartQuery, SourceQuery):
    payerAddress: Wallet | None = Field(None, description="Another name of `wallet`")
    clientUserId: PersonId | None = Field(
        None, description="Whose bank account is paid: your own id of the person, as in POST /v2/payer"
    )
    paymentDetailsId: PersonId | None = Field(
        None, description="The bank account; needed, with `clientUserId`, for a request that is paid out to one"
    )

    gasless: Flag | None = Field(
        None, description="A payment to sign instead of transactions: the service makes it, for a fee in the token"
    )

    @model_validator(mode="after")
    def _names_one_wallet(self) -> Self:
        if self.gasless == "true" and self.chain is not None:
            raise rule("is not possible with chain and token", "gasless")
        if self.wallet is not None and self.payerAddress is not None:
            raise rule("is another name of wallet: give one of them", "payerAddress")
        return self

    @property
    def payer(self) -> str | None:
        return self.wallet or self.payerAddress

    @property
    def account(self) -> ChosenAccount:
        return ChosenAccount(self.clientUserId, self.paymentDetailsId)


class RequestPayMetadata(PayMetadata):
    """What the transactions need and do. Those of another chain take a while to arrive, and nobody announces those of
    a request without a link, so it is offered meanwhile: have a payer sign once, and follow the request's status.
    """

    amount: str = Field(description="What is paid, in the invoice currency, without the fee")
    isAmountCapped: bool = Field(description="Whether less is left of the request than `amount` asked for")


class RequestPayAnswer(Output):
    transactions: list[TransactionAnswer] = Field(description="Approvals and the payment, in the order they are sent")
    metadata: RequestPayMetadata = Field(description="What they need and do")


def _parse_wallet(value: str) -> str:
    try:
        return wallet_address(value)
    except PydanticCustomError:
        raise PydanticCustomError("rule", "Invalid or missing wallet address", {"verbatim": True}) from None


class RequestRoutesQuery(PartQuery, WalletQuery):
    wallet: Annotated[Address, AfterValidator(_parse_wallet)] = Field(description="The payer's wallet")

    @model_validator(mode="before")
    @classmethod
    def _missing_is_empty(cls, values: Any) -> Any:
        return {"wallet": "", **values}


class RouteFee(Output):
    """One cost of a route. `amountInUSD` is absent where no exchange rate can be had."""

    type: str = Field(description="gas, platform, or crosschain: what the bridge takes")
    stage: str = Field(description="sending, receiving or overall: when it is paid")
    provider: str = Field(description="Who asks for it")
    amount: str
    amountInUSD: str | None = Field(default=None, description="Absent where no exchange rate can be had")
    currency: str = Field(description="The symbol of what it is paid in")
    receiverAddress: str | None = Field(default=None, description="Who receives a platform fee")
    network: str


class PaymentRoute(Output):
    id: str = Field(
        description=(
            "REQUEST_NETWORK_PAYMENT: the request's own token on its own network; else such as POLYGON_BASE_USDC_USDT: "
            "from and to which chain, and which token pays which"
        )
    )
    fee: float = Field(description="All fees but gas as a fraction of the amount: 0.01 is 1 %")
    feeInUSD: float | None = Field(None, description="All fees; absent where no exchange rate can be had")
    feeBreakdown: list[RouteFee]
    speed: str | int = Field(description="FAST, or about how many seconds it takes until the payment is confirmed")
    price_impact: int = Field(description="Always 0: a dollar token is taken for a dollar")
    chain: str = Field(description="The network's label")
    token: str = Field(description="The symbol of what is paid")


class RequestRoutesAnswer(Output):
    routes: list[PaymentRoute] = Field(description="Empty if the request cannot be paid now")
    platformFee: FeeAnswer | None = Field(description="Of the direct route")


def request_pay_answer(made: Prepared, value_form: ValueForm) -> RequestPayAnswer:
    """The transactions that pay a request. `approvalTransactionIndex` is null where none is needed."""
    facts = {"approvalTransactionIndex": None, **single_facts(made)}
    owed = made.cart.positions[0].owed
    amount = amount_text(owed.amount, owed.request)
    metadata = RequestPayMetadata(**facts, amount=amount, isAmountCapped=made.cart.is_capped)
    return RequestPayAnswer(transactions=transaction_answers(made, value_form), metadata=metadata)


def routes_answer(direct: DirectRoute | None, others: Sequence[Choice], settings: Settings) -> RequestRoutesAnswer:
    """The routes of a request: the direct one, and those from other chains."""
    if direct is None:
        return RequestRoutesAnswer(routes=[], platformFee=None)
    fee = direct.prepared.cart.positions[0].owed.fee
    shown = FeeAnswer(percentage=str(fee.percentage), address=str(fee.address)) if fee.is_charged else None
    routes = [_direct(direct, settings.payment_processor), *(_answer_route(each, settings) for each in others)]
    return RequestRoutesAnswer(routes=routes, platformFee=shown)


def _direct(route: DirectRoute, processor: str) -> PaymentRoute:
    (position,) = route.prepared.cart.positions
    owed = position.owed
    chain = require_network(owed.request.network)
    listed = [_gas(chain, route.network_fee, route.network_fee_in_dollars)]
    dollars = [route.network_fee_in_dollars]
    if owed.fee.is_charged:
        dollars.append(route.platform_fee_in_dollars)
        others = {**_in_dollars(route.platform_fee_in_dollars), "receiverAddress": owed.fee.address}
        listed.append(_fee("platform", "sending", processor, route.platform_fee, owed.token, chain.name, **others))
    known = [each for each in dollars if each is not None]
    in_all = format_amount(sum(known), FIAT_DECIMALS_ON_CHAIN)
    return PaymentRoute(
        id="REQUEST_NETWORK_PAYMENT",
        fee=float(parse_percentage(owed.fee.percentage or "0") / 100) if owed.fee.is_charged else 0,
        feeBreakdown=listed,
        speed="FAST" if route.seconds <= FAST_SECONDS else route.seconds,
        price_impact=0,
        chain=chain.label,
        token=owed.token.symbol,
        **({"feeInUSD": float(in_all)} if len(known) == len(dollars) else {}),
    )


def _answer_route(choice: Choice, settings: Settings) -> PaymentRoute:
    """A route from another chain. Amounts of its token are taken for dollars."""
    route, due = choice.route, choice.position.due
    source, wanted = route.wanted.source, route.wanted
    here, there = require_network(source.network), require_network(wanted.destination.network)
    cost, platform = cost_of(route), on_source(due.fee, due.token, source)
    gas = gas_in_dollars(route, choice.network_fee)
    listed = [
        _gas(here, choice.network_fee, gas),
        _dollar_fee("crosschain", "overall", route.tool, cost, source),
    ]
    if due.fee:
        to = {"receiverAddress": due.fee_address}
        listed.append(_dollar_fee("platform", "receiving", settings.payment_processor, platform, source, **to))
    in_tokens = Decimal(format_amount(BaseUnits(cost + platform), source.decimals))
    whole = Decimal(format_amount(on_source(due.amount, due.token, source), source.decimals))
    gas_dollars = None if gas is None else Decimal(format_amount(gas, FIAT_DECIMALS_ON_CHAIN))
    seconds = route.seconds + seconds_to_confirm(there, settings.confirmations.get(there.name, there.confirmations))
    return PaymentRoute(
        id=f"{here.label}_{there.label}_{source.symbol}_{wanted.destination.symbol}",
        fee=float(round(in_tokens / whole, 6)),
        feeBreakdown=listed,
        speed="FAST" if seconds <= FAST_SECONDS else seconds,
        price_impact=0,
        chain=here.label,
        token=source.symbol,
        **({} if gas_dollars is None else {"feeInUSD": float(in_tokens + gas_dollars)}),
    )


def _gas(chain: Network, units: BaseUnits, in_dollars: BaseUnits | None) -> RouteFee:
    """What the transactions cost in the native coin of the network that they are sent on."""
    return _fee("gas", "sending", chain.name, units, chain.coin, chain.name, **_in_dollars(in_dollars))


def _dollar_fee(kind: str, stage: str, provider: str, units: BaseUnits, token: Token, **others: Any) -> RouteFee:
    text = format_amount(units, token.decimals)
    return _fee(kind, stage, provider, units, token, token.network, amountInUSD=text, **others)


def _fee(
    kind: str, stage: str, provider: str, units: BaseUnits, paid_in: Token | Coin, network: str, **others: Any
) -> RouteFee:
    amount, currency = format_amount(units, paid_in.decimals), paid_in.symbol
    return RouteFee(
        type=kind, stage=stage, provider=provider, amount=amount, currency=currency, network=network, **others
    )


def _in_dollars(units: BaseUnits | None) -> dict[str, Any]:
    return {} if units is None else {"amountInUSD": format_amount(units, FIAT_DECIMALS_ON_CHAIN)}
