"""Quotes of routes to pay from another chain: asked of the router, and verified before anybody sees them."""

from collections.abc import Sequence
from datetime import timedelta

from chalicelib.base.frozen import frozen
from chalicelib.bridging.rules import DESTINATION_GAS, BridgeClosed, NoRoute, Route, Wanted, kept
from chalicelib.bridging.verification import Limits, RouteRefused, verify
from chalicelib.outbound.lifi import QuoteCall, RouterRefused, RouterUnavailable
from chalicelib.services import Services

_RETRY_SECONDS = 30


@frozen
class QuoteFailure:
    """Why there is no route for a payment: `no_route`, which stays so, or `unavailable`, which may be better later.

    `message` says it to the payer; `retry_after` is in seconds.
    """

    wanted: Wanted
    reason: str
    message: str
    retry_after: int | None = None


def quote(services: Services, wanted: Wanted) -> Route:
    """A route for a payment. Raises NoRoute, BridgeClosed."""
    settings, now = services.settings, services.clock()
    try:
        step = services.router.quote_call(_question(wanted))
        route = verify(step, wanted, now, Limits(settings.route_cost_bps, settings.route_cost_dollars))
    except RouterUnavailable as error:
        raise BridgeClosed(error.retry_after or _RETRY_SECONDS) from error
    except RouterRefused as error:
        raise NoRoute(f"This cannot be paid from {wanted.source.network} in {wanted.source.symbol}: {error}") from error
    except RouteRefused as error:
        services.log.error("route refused", extra={"reason": str(error)})
        raise NoRoute("No safe route was found for this payment: pay on the network of the request") from error
    return kept(route, now, timedelta(seconds=settings.route_seconds))


def quotes(services: Services, wanted: Sequence[Wanted]) -> tuple[Route | QuoteFailure, ...]:
    """The route of each payment or why there is none, in their order."""
    return tuple(_quote_or_failure(services, each) for each in wanted)


def _quote_or_failure(services: Services, wanted: Wanted) -> Route | QuoteFailure:
    try:
        return quote(services, wanted)
    except BridgeClosed as closed:
        return QuoteFailure(wanted, "unavailable", closed.message, closed.retry_after)
    except NoRoute as refused:
        return QuoteFailure(wanted, "no_route", refused.message)


def _question(wanted: Wanted) -> QuoteCall:
    return QuoteCall(
        from_chain=wanted.source.chain_id,
        from_token=wanted.source.address,
        from_address=wanted.payer,
        to_chain=wanted.destination.chain_id,
        to_token=wanted.destination.address,
        to_amount=wanted.amount,
        target=wanted.call.to,
        calldata=wanted.call.data,
        gas_limit=DESTINATION_GAS,
        fallback=wanted.fallback,
    )
