"""The routes by which a wallet can pay from other chains, quoted for those where it has the tokens."""

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import TRANSFER_GAS
from chalicelib.chains.catalogue.bridges import source_networks
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.crosschain.service.sources.balances import Sources, read_sources, tokens_of
from chalicelib.crosschain.service.sources.rules import Payer, is_offered, on_source, purpose_of, question_for
from chalicelib.payments.payable.rules import Position
from chalicelib.platform.services import Services

MOST_QUOTES = 4
"""How many sources are quoted at once: without a key the router answers 75 questions in two hours."""


@frozen
class Choice:
    """A route, and what the approval and the deposit cost in base units of the source's native coin."""

    position: Position
    route: Route
    network_fee: BaseUnits


def choices(services: Services, position: Position, wallet: str) -> tuple[Choice, ...]:
    """The routes by which the wallet can pay, at most MOST_QUOTES, those in the same token first.

    One call to the node of each source, and the calls of that many quotes. A source whose node or quote fails is left
    out, and one whose balance is too small.
    """
    if not services.router.is_configured or not is_offered(position):
        return ()
    due, sources = position.due, read_sources(services, wallet)
    tokens = sorted(_affordable(position, sources), key=lambda token: token.symbol != due.token.symbol)[:MOST_QUOTES]
    wanted = [question_for(position, token, Payer(wallet, wallet)) for token in tokens]
    quoted = router.quotes(services, wanted, purpose_of(position))
    found = []
    for route in quoted:
        if isinstance(route, Route):
            holdings = sources.holdings[route.wanted.source.network]
            if holdings.balance_of(route.wanted.source) >= route.source_amount:
                fee = BaseUnits((route.gas + TRANSFER_GAS) * holdings.gas_price)
                found.append(Choice(position, route, fee))
    return tuple(found)


def _affordable(position: Position, sources: Sources) -> list[Token]:
    """The tokens on other networks of which the wallet has at least the amount with its fee, network by network."""
    due = position.due
    return [
        token
        for chain in source_networks()
        if chain.name in sources.holdings and chain.name != due.token.network
        for token in tokens_of(chain)
        if sources.holdings[chain.name].balance_of(token) >= on_source(due.debit, due.token, token)
    ]
