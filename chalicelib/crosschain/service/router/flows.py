"""Quotes of routes to pay from another chain: asked of the router, and verified before anybody sees them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

from chalicelib.base.frozen import frozen
from chalicelib.crosschain.service.router import rules
from chalicelib.crosschain.service.router.asking import Answer, ask
from chalicelib.crosschain.service.router.records import KeptAnswer, RouterCircuit
from chalicelib.crosschain.service.router.store import find_answers
from chalicelib.crosschain.service.router.verification import Limits, RouteRefused, verify
from chalicelib.platform.outbound.lifi import QuoteCall, RouterRefused, RouterStep, RouterUnavailable, step_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Throttled

_RETRY_SECONDS = 15
_LARGEST_KEPT = 300_000
"""Bytes of an answer; DynamoDB refuses items of more than 400 kB."""
_NOT_OFFERED = "Payments from another chain are not offered here: pay on the network of the request"
_NOT_SAFE = "No safe route was found for this payment: pay on the network of the request"


@frozen
class QuoteFailure:
    """Why there is no route for a payment: `no_route`, which stays so, or `unavailable`, which may be better later.

    `message` says it to the payer; `retry_after` is in seconds.
    """

    wanted: rules.Wanted
    reason: Literal["no_route", "unavailable"]
    message: str
    retry_after: int | None = None


Outcome = rules.Route | QuoteFailure


def quote(services: Services, wanted: rules.Wanted, purpose: rules.Purpose) -> rules.Route:
    """A route for a payment, a kept one if the same was asked for before. Raises NoRoute, BridgeClosed.

    One call to DynamoDB for a kept route, five for a new one or six beyond the account's own questions, and one more if
    the state of the circuit changes.
    """
    (found,) = quotes(services, [wanted], purpose)
    if isinstance(found, rules.Route):
        return found
    if found.reason == "unavailable":
        raise rules.BridgeClosed(found.message)
    raise rules.NoRoute(found.message)


def quotes(services: Services, wanted: Sequence[rules.Wanted], purpose: rules.Purpose) -> tuple[Outcome, ...]:
    """The route of each payment or why there is none, in their order. All are asked for at the same time.

    It takes ROUTER_SECONDS at most, and as many calls to DynamoDB as one quote.
    """
    if not services.router.is_configured:
        return tuple(QuoteFailure(each, "no_route", _NOT_OFFERED) for each in wanted)
    now = services.clock()
    by_name = {question(each): each for each in wanted}
    answers, circuit = find_answers(services.store, by_name)
    found: dict[str, Outcome] = {
        name: route for name, each in by_name.items() if (route := _find_kept(services, each, answers.get(name), now))
    }
    missing = {name: each for name, each in by_name.items() if name not in found}
    found |= _ask_router(services, missing, purpose, circuit, now) if missing else {}
    return tuple(found[question(each)] for each in wanted)


def question(wanted: rules.Wanted) -> str:
    """A hash of everything that the router is asked for."""
    call = wanted.call
    parts = (wanted.source.id, wanted.destination.id, wanted.payer, wanted.fallback, call.to, call.data)
    return hashlib.sha256("/".join((*parts, str(wanted.amount))).lower().encode()).hexdigest()


def _find_kept(
    services: Services, wanted: rules.Wanted, answer: KeptAnswer | None, now: datetime
) -> rules.Route | None:
    """The route of a kept answer, unless it has expired or could not be shown any more for another reason."""
    if answer is not None and now < answer.expires_at:
        with suppress(RouteRefused, RouterUnavailable):
            return _route(services, step_of(json.loads(answer.answer)), wanted, answer.fetched_at, now)
    return None


def _ask_router(
    services: Services,
    wanted: Mapping[str, rules.Wanted],
    purpose: rules.Purpose,
    circuit: RouterCircuit | None,
    now: datetime,
) -> dict[str, Outcome]:
    """The outcome of each question that is asked of the router. Routes are kept for whoever asks the same."""
    answers = ask(services, [_call(each) for each in wanted.values()], purpose, circuit, now)
    found: dict[str, Outcome] = {}
    keep: list[KeptAnswer] = []
    for (name, each), answer in zip(wanted.items(), answers, strict=True):
        found[name] = outcome = _outcome(services, each, answer, services.clock())
        if isinstance(answer, RouterStep) and isinstance(outcome, rules.Route):
            text = json.dumps(answer.raw)
            if len(text) <= _LARGEST_KEPT:
                keep.append(KeptAnswer(name, text, outcome.fetched_at, outcome.expires_at))
    with suppress(Throttled):  # then it is asked for again
        services.store.put_many(keep)
    return found


def _outcome(services: Services, wanted: rules.Wanted, answer: Answer, now: datetime) -> Outcome:
    if isinstance(answer, RouterUnavailable):
        retry_after = answer.retry_after or _RETRY_SECONDS
        return QuoteFailure(wanted, "unavailable", rules.try_again(wanted, retry_after), retry_after)
    pair = f"{wanted.source.symbol} on {wanted.source.network}"
    if isinstance(answer, RouterRefused):
        services.log.info("router refused", extra={"reason": str(answer), "code": answer.code, "pair": pair})
        return QuoteFailure(wanted, "no_route", rules.no_way(wanted, answer.problems))
    try:
        return _route(services, answer, wanted, now, now)
    except RouteRefused as refused:
        services.log.error("route refused", extra={"reason": str(refused), "step": answer.id, "pair": pair})
        return QuoteFailure(wanted, "no_route", _NOT_SAFE)


def _route(
    services: Services, step: RouterStep, wanted: rules.Wanted, fetched_at: datetime, now: datetime
) -> rules.Route:
    """Raises RouteRefused."""
    settings = services.settings
    route = verify(step, wanted, now, Limits(settings.route_cost_bps, settings.route_cost_dollars))
    return rules.keep_route(route, fetched_at, timedelta(seconds=settings.route_seconds))


def _call(wanted: rules.Wanted) -> QuoteCall:
    return QuoteCall(
        from_chain=wanted.source.chain_id,
        from_token=wanted.source.address,
        from_address=wanted.payer,
        to_chain=wanted.destination.chain_id,
        to_token=wanted.destination.address,
        to_amount=wanted.amount,
        target=wanted.call.to,
        calldata=wanted.call.data,
        gas_limit=rules.DESTINATION_GAS,
        fallback=wanted.fallback,
    )
