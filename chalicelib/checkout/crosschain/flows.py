"""Pays what is owed on other chains by transactions of a source chain, by routes that were verified."""

from collections.abc import Sequence

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Checkout, join_checkouts
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.agreement import read_agreed_code, read_agreed_wallet
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.checkout.pipeline import Built, own, read_and_build, with_approvals
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.crosschain.service.sources.rules import (
    Payer,
    check_bridged,
    payer_of,
    purpose_of,
    question_for,
    source_for,
)
from chalicelib.payments.payable.rules import Position
from chalicelib.platform.services import Services


def one(services: Services, position: Position, options: PayOptions) -> Built:
    """One payment: in its own token, or in the token of another chain that the options name.

    From another chain it takes a quote, which is kept for its life, one call to each node of the source and, if a
    contract wallet pays, one to each of the destination. Raises BadRequest with what to change, also if there is no
    route that is safe.
    """
    source = source_for(position.due.token, options.source)
    if source is None:
        return own(services, (position,), options)
    payer = payer_of(options.wallet, options.eoa_wallet)
    check_bridged(position)
    route = router.quote(services, question_for(position, source, payer), purpose_of(position))
    return build_routed(services, (position,), (route,), source, options)


def build_routed(
    services: Services,
    positions: Sequence[Position],
    routes: Sequence[Route | None],
    source: Token,
    options: PayOptions,
) -> Built:
    """On the network of `source`: by the routes, and one payment of all positions without one.

    Approvals come first, for each contract one of exactly what it takes. Raises BadRequest for a contract wallet that
    is on the source chain alone.
    """
    chain, payer = services.chains.evm(source.network), payer_of(options.wallet, options.eoa_wallet)
    parts: list[Checkout] = []
    holdings: WalletReading | None = None
    here = [position.due for position, route in zip(positions, routes, strict=True) if route is None]
    if here:
        holdings, paid = read_and_build(chain, here, payer.wallet, batched=len(here) > 1)
        parts.append(with_approvals(chain, paid, payer.wallet, holdings))
    found = [route for route in routes if route is not None]
    for spender in dict.fromkeys(route.spender for route in found):
        paid = _through(spender, source, [route for route in found if route.spender == spender])
        holdings = read_agreed_wallet(chain, payer.wallet, source.address, spender, payer.fallback).value
        parts.append(with_approvals(chain, paid, payer.wallet, holdings, always=True))
    if holdings is not None:
        _check_contract_wallet(services, chain, payer, holdings, options, [route.wanted.destination for route in found])
    return Built(chain, join_checkouts(parts), holdings, tuple(routes))


def _through(spender: str, source: Token, routes: Sequence[Route]) -> Checkout:
    """The payments of routes that one contract of the bridge takes the tokens for."""
    return Checkout(
        spender=spender,
        debits={source: BaseUnits(sum(route.source_amount for route in routes))},
        payments=tuple(route.transaction for route in routes),
        gas=sum(route.gas for route in routes),
    )


def _check_contract_wallet(
    services: Services,
    chain: EvmChain,
    payer: Payer,
    holdings: WalletReading,
    options: PayOptions,
    destinations: Sequence[Token],
) -> None:
    """Raises BadRequest for a contract wallet without a contract on a destination: what comes back there would be lost.

    One call to each node of each destination if a contract pays.
    """
    if options.is_safe and not holdings.is_contract:
        raise BadRequest(f"wallet is not a Safe on {chain.network}: there is no contract at {payer.wallet}")
    if not holdings.is_contract:
        return
    for network in dict.fromkeys(token.network for token in destinations):
        if not read_agreed_code(services.chains.of(network), payer.fallback).value:
            raise BadRequest(
                f"{payer.fallback} is a contract on {chain.network} and not on {network}, where it gets the tokens if "
                "the payment fails: deploy it there first, or pay from a wallet with a key"
            )
