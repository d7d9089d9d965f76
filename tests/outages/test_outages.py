"""Random outages of nodes on eight networks: what is paid in time never ends expired, and every event is sent once."""

import os
from collections import Counter
from functools import cache

import pytest

from chalicelib.payments.links.records import LinkStatus
from tests.outages.simulation import CURRENCIES, Outage, Outcome, Plan, random_failures, random_plan, simulate

SCHEDULES = int(os.environ.get("OUTAGE_SCHEDULES", "6"))
"""`make chaos` takes 10,000."""
SCHEDULES_PER_PLAN = 25
EVENTS = {"payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"}


@cache
def undisturbed(plan: Plan) -> Outcome:
    return simulate(plan, ())


def check(seed: int) -> None:
    plan = random_plan(seed // SCHEDULES_PER_PLAN)
    failures = random_failures(seed)
    outcome, baseline = simulate(plan, failures), undisturbed(plan)
    failing = {each.network for each in failures}
    lying = {each.network for each in failures if each.outage is Outage.NO_LOGS}
    for index, (planned, payment) in enumerate(outcome.links):
        about = f"schedule {seed}, link {index} on {planned.network}"
        history = outcome.statuses[index]
        expected = LinkStatus.COMPLETED if outcome.paid[index] else LinkStatus.EXPIRED
        assert history[-1] is expected, about
        if outcome.paid_in_time[index] and planned.network not in lying:
            assert LinkStatus.EXPIRED not in history, about
        if planned.network not in failing:
            assert history == baseline.statuses[index], f"{about}: the outage of another network changed it"
        sent = Counter(each.event for each in outcome.world.receiver.posted if _pays(each.body, payment.requests[0].request_id))
        assert sent == (Counter(EVENTS) if outcome.paid[index] else Counter()), about


def _pays(body: bytes, request_id: str) -> bool:
    return request_id.encode() in body


@pytest.mark.parametrize("first", range(0, SCHEDULES, SCHEDULES_PER_PLAN))
def test_no_outage_loses_a_payment_ends_a_paid_link_or_changes_another_network(first: int) -> None:
    for seed in range(first, min(first + SCHEDULES_PER_PLAN, SCHEDULES)):
        check(seed)


def test_an_undisturbed_plan_has_paid_late_and_unpaid_links_on_every_network() -> None:
    outcomes = [undisturbed(random_plan(number)) for number in range(4)]
    assert {planned.network for outcome in outcomes for planned, _ in outcome.links} == set(CURRENCIES)
    kinds = {(paid, timely) for each in outcomes for paid, timely in zip(each.paid, each.paid_in_time, strict=True)}
    assert kinds == {(True, True), (True, False), (False, False)}
