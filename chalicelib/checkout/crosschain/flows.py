"""Pays what is owed on other chains by transactions of a source chain, by routes that were verified."""

from collections.abc import Mapping, Sequence

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Checkout, join_checkouts
from chalicelib.chains.catalogue.bridges import source_token
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.agreement import read_agreed_code, read_agreed_wallet
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.protocol import Chain
from chalicelib.checkout.approvals import read_and_build, with_approvals
from chalicelib.checkout.rules import Cart, PayOptions
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.router.flows import QuoteFailure
from chalicelib.crosschain.service.router.rules import Purpose, Route
from chalicelib.crosschain.service.sources import rules as source_rules
from chalicelib.payments.links.multicalls.children import Child, MulticallRefused, Reason, check_count
from chalicelib.payments.links.multicalls.rules import ExecutionKind, execution_kind
from chalicelib.payments.links.records import Link, PayableLink
from chalicelib.payments.payable.rules import Position, SourceToken
from chalicelib.platform.services import Services

_REASONS = {"no_route": Reason.UNSUPPORTED_ROUTE, "unavailable": Reason.QUOTE_UNAVAILABLE}


def find_routes(services: Services, cart: Cart, options: PayOptions) -> tuple[Route | None, ...]:
    """The route of each payment from the source that the options name, None for one that is paid in the source's own
    token; empty if all are, or if no source is named: those of a batch are never paid from elsewhere.

    What a route takes is a quote, which is kept for its life. Raises BadRequest with what to change, also if there is
    no route that is safe, and for a multicall as `_find_routes_of_children`.
    """
    if cart.children and cart.link is not None:
        return _find_routes_of_children(services, cart.link, cart, options)
    position = cart.positions[0]
    source = source_rules.source_for(position.due.token, options.source)
    if source is None:
        return ()
    payer = source_rules.payer_of(options.wallet, options.eoa_wallet)
    source_rules.check_bridged(position)
    return (
        router.quote(services, source_rules.question_for(position, source, payer), source_rules.purpose_of(position)),
    )


def _find_routes_of_children(
    services: Services, link: Link, cart: Cart, options: PayOptions
) -> tuple[Route | None, ...]:
    """As `find_routes`, of the children of a multicall, one position each.

    Raises MulticallRefused with every child that no route leads to, SetRefused if there are too many; BadRequest if a
    source has to be given, or cannot be.
    """
    source, positions, children = options.source, cart.positions, cart.children
    kind = execution_kind(link.execution_kind, [each.owed.request for each in positions])
    if source is None and kind is ExecutionKind.EVM_CROSS_CHAIN:
        raise BadRequest(
            "These children are paid from one source, by a route to each: give chain and token, such as BASE and USDC"
        )
    if source is None or all(source_rules.is_own(each.due.token, source) for each in positions):
        return ()
    if link.execution_kind == ExecutionKind.EVM_SAME_CHAIN:
        raise BadRequest("This multicall was created to be paid on its own network: omit chain and token")
    count = len(positions)
    check_count(count, services.settings.multicall_max_crosschain_children, Reason.CAP_EXCEEDED)
    payer = source_rules.payer_of(options.wallet, options.eoa_wallet)
    _refuse(services, children, _find_unsupported(positions, source))
    paying = source_token(source.chain, source.token)
    assert paying is not None, "a route leads from it"
    bridged = [index for index, each in enumerate(positions) if not source_rules.is_own(each.due.token, source)]
    wanted = [source_rules.question_for(positions[index], paying, payer) for index in bridged]
    quoted = router.quotes(services, wanted, Purpose(link.account_id, link.token))
    found = dict(zip(bridged, quoted, strict=True))
    failed = {index: each for index, each in found.items() if isinstance(each, QuoteFailure)}
    _refuse(services, children, {index: (_REASONS[each.reason], each.message) for index, each in failed.items()})
    return tuple(each if isinstance(each := found.get(index), Route) else None for index in range(count))


def _find_unsupported(positions: Sequence[Position], source: SourceToken) -> dict[int, tuple[Reason, str]]:
    """The positions that no route can lead to from the source, and why."""
    failures = {}
    for index, each in enumerate(positions):
        try:
            if source_rules.source_for(each.due.token, source) is not None:
                source_rules.check_bridged(each)
        except BadRequest as error:
            failures[index] = (Reason.UNSUPPORTED_ROUTE, error.message)
    return failures


def _refuse(services: Services, children: Sequence[PayableLink], failures: Mapping[int, tuple[Reason, str]]) -> None:
    """Raises MulticallRefused if there are failures, with the child at each place and why it failed."""
    if failures:
        blocked = [
            Child(i, children[i].link.token, children[i], reason, text) for i, (reason, text) in failures.items()
        ]
        raise MulticallRefused(blocked, services.clock())


def pay_by_routes(
    services: Services, cart: Cart, routes: Sequence[Route | None], options: PayOptions
) -> tuple[Chain, Checkout, WalletReading | None]:
    """On the network of the source: the routes, and one payment of all positions without one; what the payer has there.

    Approvals come first, for each contract one of exactly what it takes. One call to the node for the positions without
    a route, one to each node for each contract of a bridge. Raises BadRequest for a contract wallet that is on the
    source chain alone.
    """
    found = [route for route in routes if route is not None]
    source, payer = found[0].wanted.source, source_rules.payer_of(options.wallet, options.eoa_wallet)
    chain = services.chains.evm(source.network)
    parts: list[Checkout] = []
    holdings: WalletReading | None = None
    here = [due for due, route in zip(cart.dues, routes, strict=True) if route is None]
    if here:
        holdings, paid = read_and_build(chain, here, payer.wallet, batched=len(here) > 1)
        parts.append(with_approvals(chain, paid, payer.wallet, holdings))
    for spender in dict.fromkeys(route.spender for route in found):
        paid = _through(spender, source, [route for route in found if route.spender == spender])
        holdings = read_agreed_wallet(chain, payer.wallet, source.address, spender, payer.fallback).value
        parts.append(with_approvals(chain, paid, payer.wallet, holdings, always=True))
    if holdings is not None:
        _check_contract_wallet(services, chain, payer, holdings, options, [route.wanted.destination for route in found])
    return chain, join_checkouts(parts), holdings


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
    payer: source_rules.Payer,
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
