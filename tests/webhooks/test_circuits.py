"""The circuit breaker: when it opens, what is probed when, and when it is forgotten."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.circuits.rules import (
    DRAIN_FOR,
    DRAIN_PAUSE,
    FIRST_PROBE,
    LONG,
    LONGEST_PAUSE,
    OPEN_AFTER,
    OPEN_AFTER_DELIVERIES,
    PROBE_LEASE,
    SLOW_ANSWER,
    Route,
    after_draining,
    after_failure,
    after_success,
    begin_probe,
    close,
    failing_since,
    is_alive,
    new_circuit,
    pause,
    probe_now,
    route,
)
from tests.fakes.world import START

NEW = new_circuit("w", "acct", None, START)


def failed(circuit: Circuit, count: int, now: datetime = START) -> Circuit:
    for number in range(count):
        circuit = after_failure(circuit, f"d{number}", False, now)
    return circuit


def opened(now: datetime = START + OPEN_AFTER) -> Circuit:
    return after_failure(failed(NEW, OPEN_AFTER_DELIVERIES - 1), "last", False, now)


def test_a_webhook_that_never_failed_is_attempted_at_once() -> None:
    assert route(None, START) is Route.ATTEMPT
    assert route(NEW, START) is Route.ATTEMPT


def test_two_failures_move_attempts_to_the_slow_lane_until_one_succeeds() -> None:
    assert route(failed(NEW, 1), START) is Route.ATTEMPT
    circuit = failed(NEW, 2)
    assert (circuit.state, circuit.failed_deliveries, circuit.failing_since) == (CircuitState.CLOSED, ("d0", "d1"), START)
    assert route(circuit, START) is Route.ATTEMPT_IN_SLOW_LANE
    healed = after_success(circuit, START + timedelta(seconds=1))
    assert route(healed, START) is Route.ATTEMPT
    assert (healed.failed_deliveries, healed.failing_since) == ((), None)
    assert after_success(healed, START) is healed


def test_an_answer_that_takes_two_seconds_moves_attempts_to_the_slow_lane_until_one_is_quicker() -> None:
    slow = after_success(NEW, START, SLOW_ANSWER)
    assert route(slow, START) is Route.ATTEMPT_IN_SLOW_LANE
    assert after_success(slow, START, SLOW_ANSWER) is slow
    quick = after_success(slow, START, SLOW_ANSWER - timedelta(milliseconds=1))
    assert route(quick, START) is Route.ATTEMPT
    assert after_success(quick, START) is quick
    probed = after_success(begin_probe(opened(), START), START, SLOW_ANSWER)
    assert route(probed, START) is Route.ATTEMPT_IN_SLOW_LANE


def test_it_opens_with_the_fifth_delivery_that_fails_and_no_sooner_than_after_ten_seconds() -> None:
    assert failed(NEW, 50).state is CircuitState.CLOSED
    assert opened(START + OPEN_AFTER - timedelta(microseconds=1)).state is CircuitState.CLOSED
    circuit = opened()
    assert circuit.state is CircuitState.OPEN
    assert circuit.due_at == circuit.next_due == START + OPEN_AFTER + FIRST_PROBE
    assert after_failure(failed(NEW, 50), "d3", False, START + OPEN_AFTER).state is CircuitState.OPEN


def test_the_counts_and_times_of_a_circuit_are_these() -> None:
    assert (5, timedelta(seconds=10)) == (OPEN_AFTER_DELIVERIES, OPEN_AFTER)
    assert (timedelta(seconds=15), timedelta(minutes=15)) == (FIRST_PROBE, LONGEST_PAUSE)
    assert (timedelta(seconds=20), timedelta(seconds=60), timedelta(seconds=1)) == (PROBE_LEASE, DRAIN_FOR, DRAIN_PAUSE)
    assert timedelta(seconds=2) == SLOW_ANSWER


def test_attempts_of_four_deliveries_never_open_it() -> None:
    circuit = NEW
    for number in range(100):
        circuit = after_failure(circuit, f"d{number % 4}", False, START + timedelta(hours=number))
    assert (circuit.state, len(circuit.failed_deliveries)) == (CircuitState.CLOSED, 4)


def test_an_outcome_that_changes_nothing_is_not_written() -> None:
    circuit = failed(NEW, OPEN_AFTER_DELIVERIES)
    assert after_failure(circuit, "another", False, START + timedelta(seconds=9)) is circuit
    assert after_failure(circuit, "d0", False, START + timedelta(seconds=9)) is circuit


def test_a_success_in_between_begins_the_count_anew() -> None:
    circuit = after_success(failed(NEW, OPEN_AFTER_DELIVERIES - 1), START)
    assert after_failure(circuit, "last", False, START + OPEN_AFTER).state is CircuitState.CLOSED


def test_while_it_is_open_deliveries_wait_until_the_probe_is_due_and_while_that_is_made() -> None:
    circuit = opened()
    due = circuit.due_at
    assert due is not None
    assert route(circuit, due - timedelta(microseconds=1)) is Route.WAIT
    assert route(circuit, due) is Route.PROBE
    probing = begin_probe(circuit, due)
    assert probing.state is CircuitState.HALF_OPEN
    assert route(probing, due + PROBE_LEASE - timedelta(microseconds=1)) is Route.WAIT
    assert route(probing, due + PROBE_LEASE) is Route.PROBE, "its worker has died"


def test_a_probe_that_fails_is_followed_by_one_after_twice_the_time_and_at_most_15_minutes() -> None:
    circuit, now, pauses = opened(), START, []
    for _ in range(9):
        now = circuit.due_at or now
        circuit = after_failure(begin_probe(circuit, now), "probe", True, now)
        assert circuit.state is CircuitState.OPEN and circuit.due_at is not None
        pauses.append((circuit.due_at - now).total_seconds())
    assert pauses == [30, 60, 120, 240, 480, 900, 900, 900, 900]
    assert pause(10**6) == LONGEST_PAUSE


def test_an_attempt_that_began_before_it_opened_is_no_failed_probe() -> None:
    for circuit in (opened(), begin_probe(opened(), START)):
        assert after_failure(circuit, "late", False, START + timedelta(minutes=1)) is circuit


@pytest.mark.parametrize("is_probing", [True, False])
def test_any_answer_closes_it_and_what_waits_is_due(is_probing: bool) -> None:
    now = START + timedelta(minutes=1)
    circuit = after_success(begin_probe(opened(), now) if is_probing else opened(), now)
    assert (circuit.state, circuit.due_at, circuit.failed_probes) == (CircuitState.CLOSED, now, 0)
    assert route(circuit, now) is Route.ATTEMPT


def test_what_waits_is_looked_for_until_a_minute_after_it_closed() -> None:
    circuit = close(opened(), START)
    assert after_draining(circuit, True, START).due_at == START + DRAIN_PAUSE
    assert after_draining(circuit, False, START).due_at == START + DRAIN_FOR
    assert after_draining(circuit, True, START + DRAIN_FOR).due_at == START + DRAIN_FOR + DRAIN_PAUSE
    assert after_draining(circuit, False, START + DRAIN_FOR).due_at is None


def test_one_that_is_closed_because_nothing_waits_opens_again_with_the_next_failure() -> None:
    circuit = close(opened(), START + timedelta(minutes=1))
    assert route(circuit, START) is Route.ATTEMPT_IN_SLOW_LANE
    assert after_failure(circuit, "next", False, START + timedelta(hours=1)).state is CircuitState.OPEN


def test_a_webhook_is_failing_once_every_attempt_has_failed_for_an_hour_until_one_succeeds() -> None:
    later = START + LONG
    for circuit in (opened(), begin_probe(opened(), later), close(opened(), later)):
        assert (failing_since(circuit, later - timedelta(seconds=1)), failing_since(circuit, later)) == (None, START)
        assert failing_since(after_success(circuit, later), later) is None
        assert failing_since(replace(circuit, is_public=True), later) is None, "anybody may register it"
    assert failing_since(None, later) is None
    assert failing_since(failed(NEW, OPEN_AFTER_DELIVERIES - 1), later) is None, "too few deliveries"


def test_a_merchant_may_ask_for_the_probe_now() -> None:
    assert route(probe_now(opened(), START), START) is Route.PROBE


@pytest.mark.parametrize(
    ("status", "alive"),
    [(200, True), (204, True), (301, True), (404, True), (422, True), (499, True)]
    + [(429, False), (500, False), (503, False), (None, False)],
)
def test_a_receiver_that_refuses_what_it_is_sent_is_there(status: int | None, alive: bool) -> None:
    assert is_alive(status) is alive


def test_a_circuit_is_kept_for_30_days_after_it_changed() -> None:
    assert opened().vanishes_at == START + OPEN_AFTER + timedelta(days=30)


def test_every_change_has_its_time_and_leaves_the_rest_as_it_was() -> None:
    now, circuit = START + timedelta(hours=1), opened()
    probing = begin_probe(circuit, now)
    assert probing == replace(circuit, state=CircuitState.HALF_OPEN, due_at=now + PROBE_LEASE, updated_at=now)
    later = now + timedelta(seconds=5)
    assert after_failure(probing, "probe", True, later) == replace(
        circuit, failed_probes=1, due_at=later + 2 * FIRST_PROBE, updated_at=later
    )
    assert probe_now(circuit, now) == replace(circuit, due_at=now, updated_at=now)
    closed = close(circuit, now)
    assert closed == replace(circuit, state=CircuitState.CLOSED, closed_at=now, due_at=now, updated_at=now)
    later = now + timedelta(minutes=2)
    assert after_draining(closed, False, later) == replace(closed, due_at=None, updated_at=later)


def test_one_that_was_closed_and_opens_again_has_no_time_of_closing_and_keeps_its_pauses() -> None:
    probed = after_failure(begin_probe(opened(), START), "probe", True, START)
    now = START + timedelta(hours=1)
    assert after_failure(close(probed, START), "next", False, now) == replace(
        probed, due_at=now + 2 * FIRST_PROBE, updated_at=now
    )


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_success_forgets_failures_and_failed_probes(is_closed: bool) -> None:
    probed = after_failure(begin_probe(opened(), START), "probe", True, START)
    now = START + timedelta(hours=1)
    healed = after_success(close(probed, START) if is_closed else probed, now)
    at = START if is_closed else now
    assert healed == replace(NEW, closed_at=at, due_at=at, updated_at=now)


@given(st.lists(st.tuples(st.sampled_from(["fail", "succeed", "tick"]), st.integers(0, 9), st.integers(0, 60))))
def test_whatever_happens_an_open_circuit_has_a_next_probe_within_15_minutes_and_one_at_a_time(
    steps: list[tuple[str, int, int]],
) -> None:
    circuit, now = NEW, START
    for act, number, seconds in steps:
        now += timedelta(seconds=seconds)
        way = route(circuit, now)
        if act != "tick" and way is not Route.WAIT:
            is_probe = way is Route.PROBE
            before = begin_probe(circuit, now) if is_probe else circuit
            assert not is_probe or route(before, now) is Route.WAIT
            circuit = after_success(before, now) if act == "succeed" else after_failure(before, f"d{number}", is_probe, now)
        if circuit.state is not CircuitState.CLOSED:
            assert circuit.due_at is not None and circuit.due_at <= circuit.updated_at + LONGEST_PAUSE
        assert len(circuit.failed_deliveries) <= OPEN_AFTER_DELIVERIES
