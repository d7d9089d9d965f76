"""Which limits payments meet and in which order, and that the documented settings for more refuse nobody."""

from collections.abc import Sequence

import pytest

from tests.bench import capacity
from tests.bench.ceilings import Setup, Use, ceilings, setup_for, use_of
from tests.bench.steps import Step, payment_steps
from tests.bench.traffic import Outcome, simulate
from tests.support.rehearsed import few, rehearsed

pytestmark = pytest.mark.xdist_group("costs")  # with test_capacity.py
LATE_SECONDS = 60


@pytest.fixture(scope="module")
def steps() -> Sequence[Step]:
    return payment_steps()


@pytest.fixture(scope="module")
def use(steps: Sequence[Step]) -> Use:
    return use_of(steps)


def test_the_throttle_of_the_stage_is_met_first_and_the_document_begins_with_it(use: Use) -> None:
    first = ceilings(use, Setup())[0]
    assert first.name == "calls a second that the throttle of the stage takes"
    assert first.allowed == Setup().rate
    _, _, table = capacity.DOCUMENT.read_text().partition("## What is reached first")
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows[1] == f"| {first.name} | {first.payments:,.0f} |", "run `python -m tests.bench.capacity`"


@rehearsed
def test_only_the_limit_that_is_met_first_refuses_anything_above_it(steps: Sequence[Step], use: Use) -> None:
    first = ceilings(use, Setup())[0]
    below, above = (simulate(steps, Setup(), int(first.payments * part)) for part in (0.9, 1.2))
    assert (below.refused, set(above.refused)) == ({}, {first.name})


@pytest.mark.parametrize("goal", few(capacity.GOALS[:1], capacity.GOALS))
def test_the_settings_for_more_refuse_nobody_and_no_message_waits_for_long(
    steps: Sequence[Step], use: Use, goal: tuple[int, int]
) -> None:
    rate, accounts = goal
    setup = setup_for(use, rate, accounts)
    assert ceilings(use, setup, accounts)[0].payments >= rate
    outcome = simulate(steps, setup, rate, accounts)
    assert outcome.refused == {}
    assert max(outcome.longest_waits.values()) < LATE_SECONDS


@pytest.mark.parametrize("goal", few(capacity.GOALS[:1], capacity.GOALS))
def test_the_defaults_are_not_enough_for_that(steps: Sequence[Step], goal: tuple[int, int]) -> None:
    rate, accounts = goal
    assert _late_or_refused(simulate(steps, Setup(), rate, accounts))


def _late_or_refused(outcome: Outcome) -> bool:
    return bool(outcome.refused) or max(outcome.longest_waits.values()) > LATE_SECONDS


def test_a_queue_that_is_served_too_slowly_grows(steps: Sequence[Step], use: Use) -> None:
    setup = Setup(rate=10**6, burst=10**6, api_requests=10**6, concurrency={"deliver_webhook": 20})
    outcome = simulate(steps, setup, 40)
    assert outcome.longest_waits["deliver a webhook"] > LATE_SECONDS > outcome.longest_waits["record it"]


def test_what_accounts_share_does_not_depend_on_their_number_and_what_each_has_does(use: Use) -> None:
    one, ten = ({each.name: each.payments for each in ceilings(use, Setup(), number)} for number in (1, 10))
    changed = {name for name in one if one[name] != ten[name]}
    assert changed
    assert all("of one partition of an account" in name for name in changed)
