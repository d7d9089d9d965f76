"""One dead receiver harms nobody: the simulation of tests/webhooks/simulation.py, in a short form."""

from datetime import timedelta
from functools import cache

import pytest

from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.deliveries.records import DeliveryState
from tests.webhooks.simulation import EVENTS_PER_PAYMENT, TESTS_AT, Load, Outcome, Simulation

SHORT = 30
BESIDE = Load(SHORT, flaky_share=0.01)
WITHOUT = Load(SHORT, flaky_share=0.01, dead_send=False)
TESTED = Load(SHORT, flaky_share=0.01, dead_send=False, test_calls=10)


@cache
def outcome_of(load: Load) -> Outcome:
    """Each load is simulated once for all tests."""
    return Simulation(load).run()


def test_the_others_first_attempts_are_as_soon_as_without_the_dead() -> None:
    without, beside = outcome_of(WITHOUT), outcome_of(BESIDE)
    assert len(without.first_delays) == len(beside.first_delays) > SHORT * 90 * EVENTS_PER_PAYMENT
    assert beside.p99 <= without.p99 * 1.1


def test_the_others_retries_keep_their_schedule_of_1_5_and_15_seconds() -> None:
    without, beside = outcome_of(WITHOUT), outcome_of(BESIDE)
    assert len(without.retry_delays) == len(beside.retry_delays) > 50
    assert beside.retry_p99 <= without.retry_p99 * 1.1


def test_every_delivery_to_the_others_ends_and_what_the_dead_do_not_take_waits_or_failed() -> None:
    without, beside = outcome_of(WITHOUT), outcome_of(BESIDE)
    assert set(without.states) == {DeliveryState.DELIVERED}
    assert beside.states[DeliveryState.DELIVERED] == without.states[DeliveryState.DELIVERED]
    assert beside.states[DeliveryState.WAITING] > beside.states[DeliveryState.FAILED]


def test_receivers_that_answer_just_before_the_deadline_delay_others_less_in_the_slow_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So many that they occupy all workers of a lane."""
    load = Load(SHORT, dead_share=0.15, dead_answer=True)
    beside = Simulation(load).run()
    monkeypatch.setattr(circuit_rules, "SLOW_ANSWER", timedelta(days=1))
    assert Simulation(load).run().p99 > 5 * beside.p99


def test_ten_test_calls_to_20_dead_webhooks_delay_no_stranger() -> None:
    """Their events not at all; their tests by less than an attempt takes, where 200 slow ones came before."""
    before, beside = outcome_of(WITHOUT), outcome_of(TESTED)
    assert TESTS_AT < SHORT / 2
    assert beside.p99 <= before.p99 * 1.1
    assert max(beside.first_delays) <= max(before.first_delays) * 1.1
    assert beside.strangers_test_delay is not None and beside.strangers_test_delay < 5


def test_the_model_shows_the_harm_where_there_is_one_lane_without_circuit_breakers() -> None:
    """All of the workers together, so that it is not their number that helps."""
    beside = outcome_of(Load(SHORT, payments_per_second=150, is_protected=False))
    protected = outcome_of(Load(SHORT, payments_per_second=150))
    assert beside.p99 > 10 * protected.p99
    assert beside.dead_attempts > protected.dead_attempts
