"""Every order of looks, late workers, calls, blocks, forks and lapses of time of one payment intent.

Workers decide by what they have read and hand calls to the relayer later, whatever has become of the intent since; the
relayer accepts one call of a key for ever. Calls are mined or revert, and are proven later; a fork takes blocks back.
The route may be missing, the request may be paid in another way, and the bridge fills, refunds, or does nothing. What
holds in every state:

- the tokens are taken once, and leave the service's account once: of all calls that spend at most one can have an
  effect, and the next one is submitted when the one before never can;
- nothing is spent that was not taken;
- an intent ends once, and stays ended; it ends as failed only if nothing can be taken any more, as refunded only if the
  payer has the tokens, as settled only if the bridge has filled;
- one that has not ended is looked at again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache

from chalicelib.base.money import BaseUnits
from chalicelib.crosschain.service.payment_intents import rules as intent_rules
from chalicelib.crosschain.service.payment_intents import stages
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.payments.links.records import AnnouncedStatus
from chalicelib.payments.requests.records import Request
from chalicelib.relayer import custody
from chalicelib.relayer.custody import Next
from chalicelib.relayer.records import CallStatus
from tests.fakes.payment_intents import POOL, RIGHT, PaymentIntents
from tests.models.search import IS_FULL, Machine, search

DEPTH = 26 if IS_FULL else 13
MOST_FORKS, MOST_WORKERS, MOST_SPENDS = 3, 2, 4
SECOND = timedelta(seconds=1)
TAKE = "take"
OPEN = (CallStatus.UNKNOWN, CallStatus.SUCCEEDED)


@cache
def accepted() -> tuple[PaymentIntent, Request]:
    """A payment intent that its payer has just signed, and its request."""
    shop = PaymentIntents()
    offered = shop.offer().intent
    return intent_rules.accept_intent(offered, RIGHT, None, BaseUnits(12_655_100), 7, offered.created_at), shop.request


@dataclass(frozen=True)
class Made:
    """A call that the relayer has accepted: where to, what became of it by its record, and whether it is in a block."""

    to: str
    status: CallStatus = CallStatus.UNKNOWN
    is_mined: bool = False


@dataclass(frozen=True)
class State:
    intent: PaymentIntent
    now: datetime
    calls: Mapping[str, Made] = field(default_factory=dict)
    """By step: TAKE, or the number of a spend."""
    workers: tuple[tuple[str, str], ...] = ()
    """Calls that workers are about to hand over: step, and where to."""
    is_wanted: bool = True
    is_filled: bool = False
    is_refunded: bool = False
    forks: int = 0


def events(state: State) -> Iterator[tuple[str, State]]:
    intent = state.intent
    if intent.check_at is not None and intent.check_at <= state.now:
        yield from _looked(state)
    for place, (step, to) in enumerate(state.workers):
        rest = replace(state, workers=(*state.workers[:place], *state.workers[place + 1 :]))
        yield f"drop {step}", rest
        yield f"submit {step}", rest if step in state.calls else _called(rest, step, Made(to))
    for step, call in state.calls.items():
        yield from _chain(state, step, call)
    if state.is_wanted:
        yield "paid otherwise", replace(state, is_wanted=False)
    if intent.stage is not Stage.ENDED:
        yield "wait", replace(state, now=_next_instant(state))


def _looked(state: State) -> Iterator[tuple[str, State]]:
    """What a run does about an intent that is due, by the decisions of stages.py."""
    intent, now = state.intent, state.now
    if intent.stage is Stage.TAKING:
        yield from _look_at_taking(state)
    elif intent.stage is Stage.TAKEN:
        yield from _look_at_taken(state)
    elif intent.stage is Stage.BRIDGED:
        yield from _look_at_bridged(state)
    else:
        raise AssertionError(f"an intent that is {intent.stage} is looked at at {now}")


def _look_at_taking(state: State) -> Iterator[tuple[str, State]]:
    intent, now, take = state.intent, state.now, state.calls.get(TAKE)
    following = stages.after_take(intent, take.status if take else None, now)
    if following is Next.TAKEN:
        yield "look taken", replace(state, intent=stages.enter_taken(intent, now))
    elif following is Next.FAIL:
        yield "look fail", replace(state, intent=stages.end_intent(intent, End.FAILED, now))
    elif following is Next.WAIT:
        yield "look wait", replace(state, intent=stages.postpone_check(intent, now))
    else:
        after = replace(state, intent=stages.postpone_check(intent, now))
        if stages.may_take(intent, now) and state.is_wanted and len(state.workers) < MOST_WORKERS:
            yield "look take", replace(after, workers=(*state.workers, (TAKE, intent.permit.spender)))
        if intent_rules.may_contradict(intent, now):  # the payer has spent the tokens: the key of the call is withdrawn
            withdrawn = _called(state, TAKE, Made("", CallStatus.SUPERSEDED))
            yield "look give-up", replace(withdrawn, intent=stages.end_intent(intent, End.FAILED, now))
        yield "look postpone", after


def _look_at_taken(state: State) -> Iterator[tuple[str, State]]:
    intent, now, step = state.intent, state.now, str(state.intent.spends)
    take, spend = state.calls.get(TAKE), state.calls.get(step)
    statuses = take.status if take else None, spend.status if spend else None
    following = custody.after_spend(intent.permit.source.token, *statuses, spend.to if spend else "")
    later = replace(state, intent=stages.postpone_check(intent, now))
    if following is Next.SUBMIT:
        is_back = stages.is_given_up(intent, now) or not state.is_wanted
        if len(state.workers) < MOST_WORKERS and intent.spends <= MOST_SPENDS:
            to = intent.permit.source.token if is_back else POOL
            yield "look spend", replace(later, workers=(*state.workers, (step, to)))
        yield "look postpone", later
    elif following in (Next.WAIT, Next.UNDONE):
        yield "look wait", later
    elif following is Next.FAIL:
        yield "look fail", replace(state, intent=stages.end_intent(intent, End.FAILED, now))
    elif following is Next.SPEND_AGAIN:
        yield "look again", replace(state, intent=replace(intent, spends=intent.spends + 1, check_at=now))
    elif following is Next.RETURNED:
        yield "look returned", replace(state, intent=stages.end_intent(intent, End.REFUNDED, now))
    else:
        _, request = accepted()
        yield "look bridged", replace(state, intent=stages.enter_bridged(intent, request, "0x1", now))


def _look_at_bridged(state: State) -> Iterator[tuple[str, State]]:
    intent, now, spend = state.intent, state.now, state.calls[str(state.intent.spends)]
    assert intent.announced is not None
    if spend.status is not CallStatus.SUCCEEDED:
        yield "look undone", replace(state, intent=stages.undone(intent, now))
        return
    status = AnnouncedStatus.PENDING
    if state.is_filled or state.is_refunded:
        status = AnnouncedStatus.SETTLED if state.is_filled else AnnouncedStatus.REFUNDED
    seen = replace(intent.announced, status=status, check_at=now + SECOND)
    yield f"look bridge {status}", replace(state, intent=stages.follow_bridge(intent, seen, now))


def _chain(state: State, step: str, call: Made) -> Iterator[tuple[str, State]]:
    """What a block, the proof of an outcome, a fork and the bridge change of a call."""
    take = state.calls.get(TAKE)
    if call.status is CallStatus.UNKNOWN and not call.is_mined:
        is_covered = step == TAKE or (take is not None and take.is_mined)
        is_spent = any(each.is_mined for name, each in state.calls.items() if TAKE not in (name, step))
        if is_covered and not is_spent:
            yield f"mine {step}", _called(state, step, replace(call, is_mined=True))
        yield f"revert {step}", _called(state, step, replace(call, status=CallStatus.REVERTED))
        yield f"supersede {step}", _called(state, step, replace(call, status=CallStatus.SUPERSEDED))
    if call.is_mined and call.status is CallStatus.UNKNOWN:
        yield f"prove {step}", _called(state, step, replace(call, status=CallStatus.SUCCEEDED))
    if call.is_mined and state.forks < MOST_FORKS and not (state.is_filled or state.is_refunded):
        yield f"fork {step}", _forked(state, step)
    if call.is_mined and step != TAKE and call.to == POOL and not (state.is_filled or state.is_refunded):
        yield "fill", replace(state, is_filled=True)
        yield "refund", replace(state, is_refunded=True)


def _forked(state: State, step: str) -> State:
    """A fork takes a transaction back, and those that build on it; the relayer follows them again."""
    undone = [name for name, each in state.calls.items() if each.is_mined and (step == TAKE or name == step)]
    for name in undone:
        state = _called(state, name, replace(state.calls[name], is_mined=False, status=CallStatus.UNKNOWN))
    return replace(state, forks=state.forks + 1)


def _called(state: State, step: str, call: Made) -> State:
    return replace(state, calls={**state.calls, step: call})


def _boundaries(intent: PaymentIntent) -> list[datetime]:
    """The moments at which a rule decides otherwise."""
    deadline = intent_rules.deadline_of(intent.permit)
    assert intent.accepted_at is not None
    found = [intent.accepted_at + intent_rules.COUNTS_AFTER, deadline + SECOND, deadline + stages.TAKEN_LATEST + SECOND]
    return found + ([intent.taken_at + stages.BRIDGED_WITHIN + SECOND] if intent.taken_at else [])


def _next_instant(state: State) -> datetime:
    instants = [*_boundaries(state.intent), *([state.intent.check_at] if state.intent.check_at else [])]
    return min((each for each in instants if each > state.now), default=state.now + stages.MAX_DELAY)


def check(before: State, happened: str, after: State) -> None:
    intent, take = after.intent, after.calls.get(TAKE)
    spends = {int(step): each for step, each in after.calls.items() if step != TAKE}
    able = [each for each in spends.values() if each.status in OPEN]
    assert len(able) <= 1, "two calls can spend the same tokens"
    assert all(number <= intent.spends for number in spends), "a spend before the one before has failed"
    assert not spends or take is not None, "something is spent that was not taken"
    if before.intent.stage is Stage.ENDED:
        assert intent == before.intent, "an intent that had ended has changed"
    if intent.stage is not Stage.ENDED:
        assert intent.check_at is not None, "an intent is not looked at again"
    elif before.intent.stage is not Stage.ENDED:
        _check_end(after)


def _check_end(state: State) -> None:
    intent, take = state.intent, state.calls.get(TAKE)
    assert intent.check_at is None and intent.ended_at is not None
    back = [each for step, each in state.calls.items() if step != TAKE and each.is_mined and each.to != POOL]
    match intent.end:
        case End.FAILED:
            assert take is None or (take.status not in OPEN and not take.is_mined), "failed, and it is or will be taken"
        case End.REFUNDED:
            assert back or state.is_refunded, "refunded, and the payer has nothing back"
        case End.SETTLED:
            assert state.is_filled, "settled, and nothing was filled"


def canonical(state: State) -> object:
    intent = state.intent
    times = tuple(state.now >= each for each in _boundaries(intent))
    is_due = intent.check_at is not None and intent.check_at <= state.now
    calls = tuple(sorted(state.calls.items(), key=lambda each: each[0]))
    fixed = state.is_wanted, state.is_filled, state.is_refunded, state.forks
    return intent.stage, intent.end, intent.spends, is_due, times, calls, tuple(sorted(state.workers)), fixed


def kind(state: State) -> str:
    return state.intent.end.value if state.intent.end else state.intent.stage.value


def test_the_tokens_are_taken_once_and_leave_once_in_every_order_of_workers_calls_and_forks() -> None:
    intent, _ = accepted()
    found = search(Machine(State(intent, intent.created_at), events, check, canonical, kind), DEPTH)
    print(f"payment intents: {found}")
    assert set(found.kinds) >= {"taking", "taken", "failed"}
    if IS_FULL:
        assert set(found.kinds) == {"taking", "taken", "bridged", "failed", "refunded", "settled"}
        assert found.states > 220_000
