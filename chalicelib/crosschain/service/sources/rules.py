"""What is paid from another chain: from which tokens, how much at least, and what the bridge is asked for."""

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.calldata.checkout import pay_one
from chalicelib.chains.catalogue import bridges
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.crosschain.service.router.rules import Purpose, Route, Wanted
from chalicelib.payments.payable.rules import Position, SourceToken
from chalicelib.payments.requests.field_problems import refuse_field


@frozen
class Payer:
    """Who sends the transactions of the source chain, and who gets the tokens if the payment fails on the other."""

    wallet: str
    fallback: str


def source_for(destination: Token, source: SourceToken | None) -> Token | None:
    """The token of another network that a payer pays with; None if the payment's own is paid.

    Raises BadRequest for a pair that is not bridged.
    """
    if source is None or is_own(destination, source):
        return None
    if not bridges.is_bridgeable(destination):
        raise BadRequest(f"{destination.symbol} is not supported in crosschain payment.")
    found = bridges.source_token(source.chain, source.token)
    if found is None:
        raise BadRequest(f"Nothing is paid in {source.token} from {source.chain}: {possible_sources()}")
    if found.network == destination.network:
        raise BadRequest(
            f"{source.token} is not exchanged for {destination.symbol} on {source.chain}: choose another chain, or "
            f"omit chain and token to pay in {destination.id}"
        )
    return found


def is_own(destination: Token, source: SourceToken) -> bool:
    """Whether a source is the token and the network that are paid anyway."""
    chain = find_network(destination.network)
    return chain is not None and (chain.label, destination.symbol) == (source.chain, source.token)


def possible_sources() -> str:
    """What can be paid from where, for messages."""
    labels = ", ".join(each.label for each in bridges.source_networks())
    return f"{' and '.join(bridges.SOURCE_SYMBOLS)} are paid from {labels}"


def payer_of(wallet: str | None, eoa_wallet: str | None) -> Payer:
    """Who pays. Raises ValidationFailed without a wallet: a quote is made for the wallet that pays."""
    if wallet is None:
        raise refuse_field(
            ("wallet",), "is needed to pay from another chain: the address that sends the transactions there"
        )
    return Payer(wallet, eoa_wallet or wallet)


def is_offered(position: Position) -> bool:
    """Whether a payment can come from another chain."""
    due = position.due
    return bridges.is_bridgeable(due.token) and due.conversion is None and bridges.is_enough(due.token, due.debit)


def check_bridged(position: Position) -> None:
    """Raises BadRequest for a payment that is too small for a bridge, or that a contract converts."""
    due = position.due
    if due.conversion is not None:
        raise BadRequest(
            "What a contract converts when it is paid cannot come from another chain: omit chain and token to pay in "
            f"{due.token.id}"
        )
    if not bridges.is_enough(due.token, due.debit):
        text = format_amount(due.debit, due.token.decimals)
        raise BadRequest(
            f"From another chain at least {bridges.MINIMUM} USD is paid, and this is {text} {due.token.symbol}: omit "
            f"chain and token to pay in {due.token.id}"
        )


def question_for(position: Position, source: Token, payer: Payer) -> Wanted:
    """What the bridge is asked for: the call that pays, made on the payment's network with tokens of `source`."""
    due = position.due
    (call,) = pay_one(due).payments
    return Wanted(
        source=source,
        destination=due.token,
        payer=payer.wallet,
        fallback=payer.fallback,
        call=call,
        amount=due.debit,
    )


def purpose_of(position: Position) -> Purpose:
    """For what the routes of one payment are quoted."""
    request = position.owed.request
    return Purpose(request.account_id, request.request_id)


def on_source(units: BaseUnits, destination: Token, source: Token) -> BaseUnits:
    """An amount of one dollar token in the base units of another, rounded up."""
    if source.decimals >= destination.decimals:
        return BaseUnits(units * 10 ** (source.decimals - destination.decimals))
    return BaseUnits(-(-units // 10 ** (destination.decimals - source.decimals)))


def cost_of(route: Route) -> BaseUnits:
    """What a route costs in base units of its source: what is taken less what is paid; nothing if less is taken."""
    wanted = route.wanted
    return BaseUnits(max(route.source_amount - on_source(wanted.amount, wanted.destination, wanted.source), 0))


def gas_in_dollars(route: Route, network_fee: BaseUnits) -> BaseUnits | None:
    """What a fee in the native coin of the source is worth at the router's price of the coin; None if it says none."""
    return next((BaseUnits(network_fee * cost.dollars // cost.amount) for cost in route.gas_costs), None)
