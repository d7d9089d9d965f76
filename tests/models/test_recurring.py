"""Every order of looks, calls, blocks, forks, cancellations and lapses of time of a recurring payout of two payments.

The relayer accepts, refuses or postpones what it is handed, or the worker dies before; what it accepted is mined or
reverts, is replaced by another transaction, and is proven later. A payment by hand may come first, and a fork may take
a payment back, which the relayer, the recorder and the payout learn of at different times; the relayer learns it within
minutes, before time passes. What holds in every state:

- of one period at most one call can have an effect: another attempt is made when the one before never can;
- no payment is handed to the relayer before its date, twice at once, or for a payout that is not active;
- each period gets one request and one event; a payout that has ended begins none;
- `processed` is the number of periods that are counted, one after the other, each with its payment;
- an active payout is looked at again; one that has ended is, as long as its last payment can still be made;
- it pauses at the third failure in a row, or as what was made is not recorded, and has ended with its last payment.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache

from chalicelib.base.errors import BadRequest
from chalicelib.chains.calldata.reverts import ALREADY_MADE
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording import matching
from chalicelib.payments.recording.valuation import Valuation
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.recurring import forks, periods
from chalicelib.recurring import rules as recurring_rules
from chalicelib.recurring.periods import Facts, Step
from chalicelib.recurring.records import Period, RecurringPayment, RecurringStatus
from chalicelib.relayer.records import CallStatus, RelayedCall
from chalicelib.webhooks.rules import EventContext
from tests.fakes.recurring import Recurring, store_recurring
from tests.fakes.world import START
from tests.models.search import IS_FULL, Machine, search
from tests.payments.recording.test_matching import CONTEXT, transfer

DEPTH = 16 if IS_FULL else 8
MOST_FORKS, MOST_BY_HAND = (2, 1) if IS_FULL else (1, 1)
HAND = "hand"
LIFE = timedelta(minutes=1)
"""Of a worker that is about to submit what it has written."""
HOUR = timedelta(hours=1)
RETRY_AFTER = timedelta(minutes=5)
OPEN = (CallStatus.UNKNOWN, CallStatus.SUCCEEDED)


@cache
def first() -> RecurringPayment:
    """A payout of two payments, signed and due now."""
    shop = Recurring()
    made = store_recurring(shop.services, shop.owner, is_active=True, total_payments=2, start_date=START.isoformat())
    return replace(made, start=START, check_at=START, request_id=None, version=1)


@dataclass(frozen=True)
class State:
    schedule: RecurringPayment
    now: datetime = START
    periods: Mapping[int, Period] = field(default_factory=dict)
    requests: Mapping[int, Request] = field(default_factory=dict)
    payments: Mapping[int, Payment] = field(default_factory=dict)
    """What completed each request, by number of the period."""
    calls: Mapping[str, RelayedCall] = field(default_factory=dict)
    chain: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Who has paid each period, as the chain is now: keys of calls, or HAND."""
    submitting: tuple[RecurringPayment, Request] | None = None
    """What a worker has written, and is about to hand to the relayer."""
    notified: tuple[str, ...] = ()
    forks: int = 0
    by_hand: int = 0


def context(state: State) -> EventContext:
    return replace(CONTEXT, now=state.now, entropy=lambda size: bytes([len(state.periods) + 1]) * size)


def events(state: State) -> Iterator[tuple[str, State]]:
    schedule = state.schedule
    if periods.is_due(schedule, state.now) and state.submitting is None:
        yield "look", _looked(state)
    if state.submitting is not None:
        yield from _submitted(state, *state.submitting)
    for key, call in state.calls.items():
        yield from _mined(state, key, call)
    for number, request in state.requests.items():
        paid_by = state.chain.get(number, frozenset())
        known = state.payments.get(number)
        if not paid_by and state.by_hand < MOST_BY_HAND:
            yield f"pay-by-hand {number}", replace(_on_chain(state, number, paid_by | {HAND}), by_hand=state.by_hand + 1)
        if paid_by and known is None:
            yield f"record {number}", _recorded(state, number, min(paid_by))
        if known is not None and known.tx_hash not in {_hash(each) for each in paid_by}:
            yield f"take-back {number}", _unrecorded(state, number, known)
        if paid_by and state.forks < MOST_FORKS:
            yield f"fork {number}", replace(_on_chain(state, number, frozenset()), forks=state.forks + 1)
        if request.unpaid_at is not None:
            known_periods = tuple(state.periods.values())
            step = forks.take_back_period(schedule, known_periods, request, state.now)
            yield f"follow-fork {number}", _written(state, step)
    yield from _asked(state)
    if not any(each.status is CallStatus.SUCCEEDED and not _is_made(state, key) for key, each in state.calls.items()):
        yield "wait", replace(state, now=_next_instant(state))


def _looked(state: State) -> State:
    schedule = state.schedule
    number = schedule.period
    facts = Facts(state.periods.get(number))
    if schedule.request_id is not None:
        payment = state.payments.get(number)
        is_recorded = payment is not None or not state.chain.get(number)
        call = state.calls.get(periods.call_key(schedule))
        facts = Facts(state.periods.get(number), state.requests[number], payment, call, None, is_recorded)
    step = periods.decide_step(schedule, facts, RETRY_AFTER, context(state))
    after = _written(state, step)
    return after if step.request is None else replace(after, submitting=(after.schedule, step.request))


def _submitted(state: State, schedule: RecurringPayment, request: Request) -> Iterator[tuple[str, State]]:
    """What the relayer says to a payment; what follows is written if the payout has not changed meanwhile."""
    state, key = replace(state, submitting=None), periods.call_key(schedule)
    yield "die", state
    assert schedule.sent_at is not None
    if state.now - schedule.sent_at > LIFE:
        return
    if key not in state.calls:
        call = RelayedCall(key, "sepolia", "0x" + "5" * 40, len(state.calls), state.now)
        yield "accept", replace(state, calls={**state.calls, key: call})
    else:
        yield "accept again", state
        return
    facts = Facts(request=request, is_recorded=not state.chain.get(schedule.period))
    made = any(each != HAND for each in state.chain.get(schedule.period, ()))
    refused = periods.decide_refused(schedule, facts, ALREADY_MADE if made else "no tokens", RETRY_AFTER, context(state))
    answers = {"refuse": refused, "postpone": Step(periods.postpone_look(schedule, state.now))}
    answers["hold"] = Step(periods.waiting(schedule, state.now))
    for name, step in answers.items():
        yield name, _written(state, step) if state.schedule == schedule else state


def _mined(state: State, key: str, call: RelayedCall) -> Iterator[tuple[str, State]]:
    """The transaction of a call gets into a block, or its end is proven; a fork takes a proof back."""
    number = _period_of(key)
    paid_by = state.chain.get(number, frozenset())
    if call.status is CallStatus.SUCCEEDED and not _is_made(state, key):
        yield f"reopen {number}", _called(state, key, CallStatus.UNKNOWN)
    if call.status is not CallStatus.UNKNOWN:
        return
    if key in paid_by:
        yield f"prove {number}", _called(state, key, CallStatus.SUCCEEDED)
        return
    others = [each for each in paid_by if each != HAND]
    if not others:
        yield f"mine {number}", _on_chain(state, number, paid_by | {key})
    yield f"revert {number}", _called(state, key, CallStatus.REVERTED, ALREADY_MADE if others else "no tokens")
    yield f"supersede {number}", _called(state, key, CallStatus.SUPERSEDED)


def _is_made(state: State, key: str) -> bool:
    """Whether the transaction of a call is on the chain, as that is now."""
    return key in state.chain.get(_period_of(key), ())


def _period_of(key: str) -> int:
    return int(key.split("/")[2])


def _called(state: State, key: str, status: CallStatus, reason: str | None = None) -> State:
    return replace(state, calls={**state.calls, key: replace(state.calls[key], status=status, reason=reason)})


def _on_chain(state: State, number: int, paid_by: frozenset[str]) -> State:
    return replace(state, chain={**state.chain, number: paid_by})


def _hash(source: str) -> str:
    return f"0x{source}"


def _recorded(state: State, number: int, source: str) -> State:
    request, known = state.requests[number], state.payments.get(number)
    found = transfer(request.amount, number, tx_hash=_hash(source), paid_at=state.now)
    decision = matching.record(Payable((request,)), request, known, found, Valuation(request.amount), context(state))
    assert decision is not None and decision.payment is not None
    requests, payments = {**state.requests, number: decision.request}, {**state.payments, number: decision.payment}
    return replace(state, requests=requests, payments=payments)


def _unrecorded(state: State, number: int, known: Payment) -> State:
    request = state.requests[number]
    decision = matching.reverse(Payable((request,)), request, known, [known], context(state))
    assert decision is not None
    left = {each: payment for each, payment in state.payments.items() if each != number}
    return replace(state, requests={**state.requests, number: decision.request}, payments=left)


def _asked(state: State) -> Iterator[tuple[str, State]]:
    """The owner cancels or resumes; what is recorded by then is counted first."""
    counted, number = Step(state.schedule), state.schedule.period
    if state.schedule.request_id is not None and number in state.payments:
        counted = periods.count_period(state.schedule, state.periods[number], state.payments[number], state.now)
    for name, decide in (("cancel", recurring_rules.cancel_schedule), ("resume", recurring_rules.resume_schedule)):
        try:
            step = decide(counted.schedule, state.now)
        except BadRequest:
            continue
        yield name, _written(state, replace(step, records=(*counted.records, *step.records)))


def _written(state: State, step: Step) -> State:
    """The state after the one transaction of a step."""
    known, requests = dict(state.periods), dict(state.requests)
    for record in step.records:
        if isinstance(record, Period):
            known[record.number] = record
    for record in step.records:
        if isinstance(record, Request):
            number = next(each.number for each in known.values() if each.request_id == record.request_id)
            requests[number] = record
    schedule = replace(step.schedule, version=state.schedule.version + 1)
    notified = (*state.notified, *(each.kind for each in step.events))
    return replace(state, schedule=schedule, periods=known, requests=requests, notified=notified)


def _next_instant(state: State) -> datetime:
    """When it is looked at next, or an hour later."""
    check_at = state.schedule.check_at
    return check_at if check_at is not None and check_at > state.now else state.now + HOUR


def check(before: State, happened: str, after: State) -> None:
    schedule, was = after.schedule, before.schedule
    for number in after.requests:
        calls = [each for key, each in after.calls.items() if _period_of(key) == number]
        assert sum(each.status in OPEN for each in calls) <= 1, "two calls can make the same payment"
    if happened == "look" and after.submitting is not None:
        assert was.status is RecurringStatus.ACTIVE, "a payment of a payout that is not active"
        assert after.now >= periods.period_due(was), "a payment before its date"
    if len(after.periods) > len(before.periods):
        assert was.status is RecurringStatus.ACTIVE, "a period of a payout that is not active"
    assert after.notified.count("request.recurring") == len(after.periods) == len(after.requests), "one request and event each"
    counted = [number for number, each in after.periods.items() if each.payment_id is not None]
    assert counted == list(range(1, schedule.processed + 1)), "processed periods"
    if schedule.status is RecurringStatus.COMPLETED:
        assert schedule.processed == schedule.total, "completed without its last payment"
    assert schedule.processed < schedule.total or schedule.status is not RecurringStatus.ACTIVE, "active after its end"
    assert schedule.failures < periods.MOST_FAILURES or schedule.status is RecurringStatus.PAUSED or not was.check_at
    if schedule.status is RecurringStatus.ACTIVE:
        assert schedule.check_at is not None, "an active payout is not looked at again"
    elif schedule.request_id is not None and schedule.check_at is None:
        _check_at_rest(after)


def _check_at_rest(state: State) -> None:
    """What is not looked at any more has no call that may still be executed. Somebody is called to look at a payment
    that was made and not recorded for an hour."""
    if state.schedule.failure_reason == periods.NOT_RECORDED:
        return
    call = state.calls.get(periods.call_key(state.schedule))
    is_open = call is not None and call.status is CallStatus.UNKNOWN
    assert not is_open, "a payment that may still be made is not followed"


def canonical(state: State) -> object:
    def ago(instant: datetime | None, most: timedelta = 2 * HOUR) -> timedelta | None:
        return None if instant is None else min(state.now - instant, most)

    each = state.schedule
    due = periods.period_due(each) - state.now
    schedule = (
        each.status, each.processed, each.failures, each.request_id is None, each.attempt, ago(each.sent_at),
        ago(each.unrecorded_since, HOUR), ago(each.check_at, timedelta()), max(due, timedelta()),
    )
    known = tuple((each.number, each.payment_id, each.attempt) for each in state.periods.values())
    requests = tuple((each.status, each.unpaid_at is None, each.tx_hash) for each in state.requests.values())
    calls = tuple((key, call.status, call.reason) for key, call in sorted(state.calls.items()))
    chain = tuple(sorted((number, tuple(sorted(each))) for number, each in state.chain.items()))
    submitting = None
    if state.submitting is not None:
        written, _ = state.submitting
        submitting = written == each, periods.call_key(written), ago(written.sent_at, 2 * LIFE)
    return schedule, known, requests, calls, chain, submitting, tuple(state.payments), state.forks, state.by_hand, state.notified


def kind(state: State) -> str:
    return state.schedule.status.value


def test_each_period_is_paid_once_in_every_order_of_calls_blocks_forks_and_cancellations() -> None:
    found = search(Machine(State(first()), events, check, canonical, kind), DEPTH)
    print(f"recurring: {found}")
    assert set(found.kinds) == {"active", "paused", "cancelled", "completed"} or not IS_FULL
    if IS_FULL:
        assert found.states > 150_000
