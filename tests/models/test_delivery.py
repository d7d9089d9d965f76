"""Every order of messages, workers, answers, deaths, sweeps and lapses of time of two deliveries to one webhook.

Two workers read, claim, post and write, each write conditional on what was read; messages come late, twice, or not at
all; a worker may die between any two steps, or go on after its lease has ended. Four other deliveries failed before, so
that the next failure opens the circuit. What holds in every state:

- of each delivery at most one worker has a claim that counts;
- a delivery ends once: delivered by an answer that was good, failed by the last attempt, by age, or with its webhook;
  it stays so unless the merchant asks for it again;
- of one time that it is sent at most four attempts count, besides probes;
- an open delivery is never forgotten: it is due by itself, its circuit is due, or a worker is about to act.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.base.errors import Conflict
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.circuits.rules import Route
from chalicelib.webhooks.deliveries import rules as delivery_rules
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState
from chalicelib.webhooks.endpoints.records import Endpoint
from tests.fakes.world import START
from tests.models.search import IS_FULL, Machine, search

DEPTH = 11 if IS_FULL else 7
WORKERS = 2
LIFE = timedelta(seconds=30)
"""Of a worker; after that Lambda has ended it."""
ENDPOINT = Endpoint("wh", "acct", None, "https://shop.example/hook", "", True, START, Mode.API_KEY)
ATTEMPTS = 1 + len(delivery_rules.RETRY_DELAYS)


@dataclass(frozen=True)
class Worker:
    """What a worker has read, and then claimed; `route` is None once it posts."""

    index: int
    delivery: Delivery
    circuit: Circuit | None
    since: datetime
    route: Route | None
    is_probe: bool = False


@dataclass(frozen=True)
class State:
    now: datetime
    deliveries: tuple[Delivery, ...]
    circuit: Circuit | None
    workers: tuple[Worker, ...] = ()
    attempts: tuple[int, ...] = (0, 0)
    """How many attempts counted since each delivery was sent, without probes."""
    is_active: bool = True
    repeats: int = 1


def _delivery(name: str) -> Delivery:
    return Delivery(name, "wh", "acct", None, "payment.confirmed", "{}", False, 0, DeliveryState.PENDING, START, START)


def _failing() -> Circuit:
    """The circuit after four other deliveries failed for ten seconds."""
    others = tuple(f"other {number}" for number in range(circuit_rules.OPEN_AFTER_DELIVERIES - 1))
    closed = circuit_rules.new_circuit("wh", "acct", None, START)
    return replace(closed, failed_deliveries=others, failing_since=START - circuit_rules.OPEN_AFTER)


FIRST = State(START, (_delivery("first"), _delivery("second")), _failing())


def events(state: State) -> Iterator[tuple[str, State]]:
    for index, delivery in enumerate(state.deliveries):
        if len(state.workers) < WORKERS and delivery_rules.may_claim(delivery, delivery.attempt, state.now):
            yield f"read {delivery.delivery_id}", _read(state, index)
        if delivery.next_due is not None and delivery.next_due <= state.now:
            yield f"sweep {delivery.delivery_id}", _swept(state, index)
        if state.repeats and not _is_refused(delivery, state.is_active):
            yield f"repeat {delivery.delivery_id}", _repeated(state, index)
    for each in state.workers:
        rest = replace(state, workers=tuple(other for other in state.workers if other is not each))
        yield f"die {each.delivery.delivery_id}", rest
        if state.now - each.since < LIFE:
            yield from _acts(rest, each)
    if state.circuit is not None and state.circuit.due_at is not None and state.circuit.due_at <= state.now:
        yield from _tended(state, state.circuit)
    if state.is_active:
        yield "switch off", replace(state, is_active=False)
    if (instant := _next_instant(state)) is not None:
        yield "wait", replace(state, now=instant)


def _read(state: State, index: int) -> State:
    delivery = state.deliveries[index]
    if not state.is_active:
        return _put(state, index, delivery_rules.abandon(delivery))
    worker = Worker(index, delivery, state.circuit, state.now, circuit_rules.route(state.circuit, state.now))
    return replace(state, workers=(*state.workers, worker))


def _swept(state: State, index: int) -> State:
    delivery = state.deliveries[index]
    if not delivery_rules.may_claim(delivery, delivery.attempt, state.now):
        return state
    too_old = delivery_rules.is_too_old(delivery, state.now)
    return _put(state, index, delivery_rules.abandon(delivery) if too_old else delivery_rules.release(delivery, state.now))


def _is_refused(delivery: Delivery, is_active: bool) -> bool:
    try:
        delivery_rules.check_may_repeat(delivery, replace(ENDPOINT, is_active=is_active))
    except Conflict:
        return True
    return False


def _repeated(state: State, index: int) -> State:
    again = _put(state, index, delivery_rules.repeat(state.deliveries[index], state.now))
    return replace(again, repeats=state.repeats - 1, attempts=_added(state.attempts, index, -state.attempts[index]))


def _acts(state: State, worker: Worker) -> Iterator[tuple[str, State]]:
    name, is_current = worker.delivery.delivery_id, state.deliveries[worker.index] == worker.delivery
    if worker.route is None:
        for status in (200, 400, 500, None):
            yield f"answer {status} {name}", _answered(state, worker, status)
        return
    if not is_current:
        yield f"give-way {name}", state
        return
    waits = worker.route is Route.WAIT
    if worker.route is Route.PROBE and worker.circuit is not None:
        waits = state.circuit != worker.circuit
        if not waits:
            state = _noted(state, circuit_rules.begin_probe(worker.circuit, state.now))
    if waits:
        is_aside = worker.delivery.state is DeliveryState.WAITING
        yield f"set-aside {name}", state if is_aside else _put(state, worker.index, delivery_rules.wait(worker.delivery, state.now))
        return
    claimed = delivery_rules.claim(worker.delivery, worker.delivery.attempt, state.now)
    if claimed is None:
        yield f"give-way {name}", state
        return
    state = _put(state, worker.index, claimed)
    is_probe = worker.route is Route.PROBE
    posting = replace(worker, delivery=state.deliveries[worker.index], circuit=state.circuit, route=None, is_probe=is_probe)
    yield f"claim {name}", replace(state, workers=(*state.workers, posting))


def _answered(state: State, worker: Worker, status: int | None) -> State:
    if state.deliveries[worker.index] != worker.delivery:
        return state  # another worker took over
    made = Attempt(state.now, status, None, "", 1)
    settled, _ = delivery_rules.settle(worker.delivery, made, status == 200, worker.is_probe, state.now)
    state = _put(state, worker.index, settled)
    if not worker.is_probe:
        state = replace(state, attempts=_added(state.attempts, worker.index, 1))
    if state.circuit is None:
        return state
    if circuit_rules.is_alive(status):
        return _noted(state, circuit_rules.after_success(state.circuit, state.now))
    return _noted(state, circuit_rules.after_failure(state.circuit, settled.delivery_id, worker.is_probe, state.now))


def _tended(state: State, circuit: Circuit) -> Iterator[tuple[str, State]]:
    waiting = [index for index, each in enumerate(state.deliveries) if each.state is DeliveryState.WAITING]
    rest = []
    for index in waiting:
        if not state.is_active or delivery_rules.is_too_old(state.deliveries[index], state.now):
            state = _put(state, index, delivery_rules.abandon(state.deliveries[index]))
        else:
            rest.append(index)
    if circuit.state is CircuitState.CLOSED:
        for index in rest:
            state = _put(state, index, delivery_rules.release(state.deliveries[index], state.now))
        yield "drain", _noted(state, circuit_rules.after_draining(circuit, bool(waiting), state.now))
    elif not rest:
        yield "close", _noted(state, circuit_rules.close(circuit, state.now))
    elif len(state.workers) < WORKERS:
        yield "probe", _read(state, rest[circuit.failed_probes % len(rest)])


def _next_instant(state: State) -> datetime | None:
    """The next moment at which a rule decides otherwise than now."""
    instants = [each.since + LIFE for each in state.workers]
    for each in state.deliveries:
        if each.is_open:
            instants += [each.due_at, each.lease_end, (each.trying_since or each.due_at) + delivery_rules.GIVE_UP]
    if state.circuit is not None:
        instants += [each for each in (state.circuit.due_at,) if each is not None]
        instants += [each + circuit_rules.DRAIN_FOR for each in (state.circuit.closed_at,) if each is not None]
    return min((each for each in instants if each > state.now), default=None)


def _put(state: State, index: int, delivery: Delivery) -> State:
    """The state after a conditional write of a delivery that was just read: its version is the next one."""
    written = replace(delivery, version=delivery.version + 1)
    return replace(state, deliveries=(*state.deliveries[:index], written, *state.deliveries[index + 1 :]))


def _noted(state: State, circuit: Circuit) -> State:
    if circuit == state.circuit:
        return state
    return replace(state, circuit=replace(circuit, version=circuit.version + 1))


def _added(numbers: tuple[int, ...], index: int, change: int) -> tuple[int, ...]:
    return tuple(each + (change if place == index else 0) for place, each in enumerate(numbers))


def check(before: State, happened: str, after: State) -> None:
    for index, (was, delivery) in enumerate(zip(before.deliveries, after.deliveries, strict=True)):
        claims = [each for each in after.workers if each.route is None and each.delivery == delivery]
        assert len(claims) <= (delivery.state is DeliveryState.SENDING), "two workers have the same attempt"
        if happened == f"claim {delivery.delivery_id}" and was.state is DeliveryState.SENDING:
            assert after.now >= was.lease_end, "an attempt is claimed while a worker makes it"
        assert after.attempts[index] <= ATTEMPTS, "more attempts than the schedule has"
        if not was.is_open and not happened.startswith("repeat"):
            assert delivery == was, "a delivery that was over has changed"
        if was.is_open and not delivery.is_open:
            _check_end(before, happened, after, index)
        if delivery.is_open and delivery.next_due is None:
            is_circuits = after.circuit is not None and after.circuit.due_at is not None
            acts = any(each.index == index for each in after.workers)
            assert is_circuits or acts, "a waiting delivery is forgotten"


def _check_end(before: State, happened: str, after: State, index: int) -> None:
    was, delivery = before.deliveries[index], after.deliveries[index]
    if delivery.state is DeliveryState.DELIVERED:
        assert happened == f"answer 200 {delivery.delivery_id}", "delivered without an answer"
        return
    is_old = was.trying_since is not None and after.now - was.trying_since >= delivery_rules.GIVE_UP
    is_last = after.attempts[index] == ATTEMPTS and happened.startswith("answer")
    assert is_old or is_last or not after.is_active, "failed too early"


def canonical(state: State) -> object:
    """Times as how far they are from now; what a worker has read only as whether it is still so."""

    def left(instant: datetime | None, oldest: timedelta = timedelta()) -> timedelta | None:
        return None if instant is None else max(instant - state.now, -oldest)

    deliveries = tuple(
        (each.state, each.attempt, left(each.due_at), left(each.leased_until), left(each.trying_since, delivery_rules.GIVE_UP))
        for each in state.deliveries
    )
    circuit = state.circuit and (
        state.circuit.state,
        state.circuit.failed_deliveries,
        left(state.circuit.failing_since, circuit_rules.OPEN_AFTER),
        state.circuit.failed_probes,
        left(state.circuit.closed_at, circuit_rules.DRAIN_FOR),
        left(state.circuit.due_at),
    )
    workers = sorted(
        (
            each.index,
            state.deliveries[each.index] == each.delivery,
            state.circuit == each.circuit,
            str(each.route),
            each.is_probe,
            left(each.since, LIFE) or timedelta(),
        )
        for each in state.workers
    )
    return deliveries, circuit, tuple(workers), state.attempts, state.is_active, state.repeats


def kind(state: State) -> str:
    return f"{state.deliveries[0].state} {state.circuit.state if state.circuit else CircuitState.CLOSED}"


def test_a_delivery_ends_once_and_none_is_forgotten_in_every_order_of_messages_and_workers() -> None:
    found = search(Machine(FIRST, events, check, canonical, kind), DEPTH)
    print(f"delivery: {found}")
    assert {each.partition(" ")[0] for each in found.kinds} == {each.value for each in DeliveryState}
    assert {each.partition(" ")[2] for each in found.kinds} == {each.value for each in CircuitState}
    if IS_FULL:
        assert found.states > 230_000
