"""What a wallet has on the chains that it could pay from, read at the same time, and the routes from there."""

from collections.abc import Mapping
from functools import partial

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.parallel import run_within
from chalicelib.chains.calldata.checkout import TRANSFER_GAS
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, source_networks, source_token
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.chains.catalogue.networks import Network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.crosschain.service.sources.rules import Payer, is_offered, on_source, purpose_of, question_for
from chalicelib.payments.payable.rules import Position
from chalicelib.platform.services import Services

READ_SECONDS = 4
"""How long all nodes together are waited for: a payer looks at a page meanwhile."""


MOST_QUOTES = 4
"""How many sources are quoted at once: without a key the router answers 75 questions in two hours."""


@frozen
class Sources:
    """What a wallet has by network, and the labels of the networks whose nodes gave no answer in time."""

    holdings: Mapping[str, WalletReading]
    unavailable: tuple[str, ...]


def tokens_of(chain: Network) -> list[Token]:
    """The tokens that are paid from a network."""
    found = (source_token(chain.label, symbol) for symbol in SOURCE_SYMBOLS)
    return [token for token in found if token is not None]


def read_sources(services: Services, wallet: str) -> Sources:
    """The wallet's balances of those tokens, and of the native coin, on every source network that has a node here.

    One call to each node. A node that does not answer within READ_SECONDS leaves its network out, and no other one.
    """
    chains = [each for each in source_networks() if each.name in services.chains.networks]
    reads = [partial(_read, services, wallet, each) for each in chains]
    holdings: dict[str, WalletReading] = {}
    for each, read in zip(chains, run_within(READ_SECONDS, reads, len(chains)), strict=True):
        if isinstance(read, WalletReading):
            holdings[each.name] = read
        else:
            reason = "no answer in time" if read is None else read.reason or read.message
            services.log.warning("source not read", extra={"network": each.name, "reason": reason})
    return Sources(holdings, tuple(each.label for each in chains if each.name not in holdings))


def _read(services: Services, wallet: str, chain: Network) -> WalletReading | ChainUnavailable:
    tokens, spender = [token.address for token in tokens_of(chain)], address_of(ACROSS_SPOKE_POOL, chain.name)
    try:
        return services.chains.evm(chain.name).read_wallet(wallet, tokens, spender)
    except ChainUnavailable as error:
        return error


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
