"""Asks the router, as far as its circuit breaker and its quota let it be asked: several questions at the same time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from chalicelib.base.parallel import run_within
from chalicelib.crosschain.service.router import circuit as circuits
from chalicelib.crosschain.service.router.records import RouterCircuit
from chalicelib.crosschain.service.router.rules import Purpose
from chalicelib.platform.access.rate_limits.flows import uncount
from chalicelib.platform.access.rate_limits.rules import Window, seconds_until
from chalicelib.platform.access.rate_limits.store import count
from chalicelib.platform.outbound.lifi import QuoteCall, RouterRefused, RouterStep, RouterUnavailable
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Throttled, WriteConflict

AT_ONCE = 20
_LEASE_SECONDS = int(circuits.PROBE_LEASE.total_seconds())

Answer = RouterStep | RouterRefused | RouterUnavailable


def ask(
    services: Services,
    questions: Sequence[QuoteCall],
    purpose: Purpose,
    circuit: RouterCircuit | None,
    now: datetime,
) -> list[Answer]:
    """The answer to each question, RouterUnavailable if there is none within ROUTER_SECONDS or it was not asked. Of
    several that do not fit into the quota the first is asked.

    Three calls to DynamoDB, four if the account's own question is used up, and one more before and after if the circuit
    is or was not closed: these are no steps of the request, whose refusal they must not keep under its idempotency key.
    What does not fit takes as many again.
    """
    wait = circuits.time_closed(circuit, now)
    if wait is not None:
        return _not_asked(questions, "the circuit is open", -int(-wait.total_seconds() // 1))
    probe = circuits.probing(circuit, now)
    if probe is not None:
        try:
            circuit = services.store.apart.write(probe)
        except WriteConflict:
            return _not_asked(questions, "another process probes", _LEASE_SECONDS)
    asked = questions[:1] if probe is not None else questions
    rest = "another question probes", _LEASE_SECONDS
    refused = _seconds_to_wait(services, len(asked), purpose, now)
    if refused is not None:
        rest = "the quota is used up", refused
        if len(asked) == 1 or _seconds_to_wait(services, 1, purpose, now) is not None:
            return _not_asked(questions, *rest)
        asked = asked[:1]
    answers = _answers(services, asked)
    _learn(services, circuit, answers)
    return answers + _not_asked(questions[len(asked) :], *rest)


def _not_asked(questions: Sequence[QuoteCall], reason: str, retry_after: int) -> list[Answer]:
    return [RouterUnavailable(reason, retry_after) for _ in questions]


def _full_window(services: Services, questions: int, purpose: Purpose, now: datetime) -> Window | None:
    """Counts questions against the quotas, or none of them. Returns the window in which they do not fit, None if they
    may be asked.

    Raises Throttled as `count` does.
    """
    limits, counted = circuits.quotas(services.router.has_key, purpose, now), list[Window]()

    def fits(window: Window) -> bool:
        if count(services.store, window, questions) is None:
            return False
        counted.append(window)
        return True

    if not fits(limits.link):
        full = limits.link
    elif not fits(limits.own) and not fits(limits.shared):
        full = limits.shared
    elif not fits(limits.router):
        full = limits.router
    else:
        return None
    uncount(services, *counted, units=questions)
    return full


def _seconds_to_wait(services: Services, questions: int, purpose: Purpose, now: datetime) -> int | None:
    """Counts questions. Returns None if they may be asked, or in how many seconds there is room again."""
    try:
        full = _full_window(services, questions, purpose, now)
    except Throttled:
        return 1
    if full is None:
        return None
    facts = {"quota": full.key, "limit": full.limit, "until": full.ends_at.isoformat()}
    services.log.warning("router quota used up", extra=facts)
    return seconds_until(full.ends_at, now)


def _answers(services: Services, questions: Sequence[QuoteCall]) -> list[Answer]:
    tasks = [partial(_answer, services, each) for each in questions]
    answers = run_within(services.settings.router_seconds, tasks, AT_ONCE)
    return [RouterUnavailable("no answer in time") if each is None else each for each in answers]


def _answer(services: Services, question: QuoteCall) -> Answer:
    try:
        return services.router.quote_call(question)
    except (RouterRefused, RouterUnavailable) as error:
        return error


def _learn(services: Services, circuit: RouterCircuit | None, answers: Sequence[Answer]) -> None:
    """Writes what the answers say about the router. Of processes that do so at the same time one is enough."""
    failures = [each for each in answers if isinstance(each, RouterUnavailable)]
    if failures:
        services.log.warning("router did not answer", extra={"reasons": sorted({str(each) for each in failures})})
    now = services.clock()
    retry_after = max((each.retry_after for each in failures if each.retry_after), default=None)
    if len(failures) < len(answers) and retry_after is None:
        changed = circuits.after_answers(circuit, now)
    else:
        said = None if retry_after is None else timedelta(seconds=retry_after)
        changed = circuits.after_failures(circuit, len(failures), said, now)
        if changed.open_until is not None:
            services.log.error("router circuit opened", extra={"until": changed.open_until.isoformat()})
    if changed is not None:
        try_write(services.store.apart, changed)
