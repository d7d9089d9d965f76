"""What a recurring payout keeps, and what it takes up again, when a fork takes a payment of it away."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.recurring.forks import take_back_period
from chalicelib.recurring.periods import MAX_LOOK_DELAY, decide_step
from chalicelib.recurring.periods import Facts as Known
from chalicelib.recurring.records import Period, RecurringPayment, RecurringStatus
from tests.recurring.schedules import CONTEXT, NOW, begun, payment

DAY = timedelta(days=1)


def run(processed: int, total: int = 4) -> tuple[RecurringPayment, list[Period], list[Request]]:
    """One with as many paid periods, by attempts 2, 3, ..., and the next one in work with the attempt after those."""
    schedule, period, request = begun()
    schedule = replace(schedule, permit=replace(schedule.permit, total_payments=total), attempt=2, sent_at=NOW)
    periods, requests = list[Period](), list[Request]()
    for number in range(1, processed + 1):
        paid_at = NOW + number * DAY
        step = decide_step(schedule, Known(period, request, payment(request, paid_at=paid_at)), DAY, CONTEXT)
        (paid,) = step.records
        assert isinstance(paid, Period)
        periods, requests = [*periods, paid], [*requests, replace(request, status=RequestStatus.PAID)]
        if step.schedule.status is RecurringStatus.COMPLETED:
            return step.schedule, periods, requests
        _, period, request = begun(processed=number)
        schedule = replace(step.schedule, request_id=request.request_id, attempt=number + 2, sent_at=NOW)
    return schedule, [*periods, period], [*requests, request]


def lost(request: Request) -> Request:
    return replace(request, status=RequestStatus.CREATED, unpaid_at=NOW)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_period_of_a_lost_payment_is_in_work_again_with_its_request_and_attempt(number: int) -> None:
    schedule, periods, requests = run(3)
    request = lost(requests[number - 1])
    schedule = replace(schedule, unrecorded_since=NOW, failures=1)
    step = take_back_period(schedule, periods, request, NOW)
    before = periods[number - 1]
    assert step.schedule == replace(
        schedule,
        processed=number - 1,
        request_id=before.request_id,
        attempt=before.attempt,
        last_payment_at=None if number == 1 else NOW + (number - 1) * DAY,
        unrecorded_since=None,
        sent_at=NOW,
        check_at=NOW + MAX_LOOK_DELAY,
    )
    unpaid = replace(before, payment_id=None, amount=None, paid_at=None, tx_hash=None)
    kept = replace(periods[3], attempt=schedule.attempt)
    assert schedule.attempt == 5 != periods[3].attempt
    assert step.records == (replace(request, unpaid_at=None), unpaid, kept)
    assert not step.events and step.request is None


def test_a_completed_one_is_active_again() -> None:
    schedule, periods, requests = run(2, total=2)
    assert schedule.status is RecurringStatus.COMPLETED
    step = take_back_period(schedule, periods, lost(requests[1]), NOW)
    assert (step.schedule.status, step.schedule.processed) == (RecurringStatus.ACTIVE, 1)
    assert len(step.records) == 2, "no period was in work"


@pytest.mark.parametrize("status", [RecurringStatus.PAUSED, RecurringStatus.CANCELLED])
def test_one_that_is_paused_or_cancelled_stays_so(status: RecurringStatus) -> None:
    schedule, periods, requests = run(2)
    assert take_back_period(replace(schedule, status=status), periods, lost(requests[1]), NOW).schedule.status is status


def test_a_payment_that_is_on_the_chain_again_changes_no_count() -> None:
    schedule, periods, requests = run(2)
    request = replace(requests[1], unpaid_at=NOW)
    assert request.status is RequestStatus.PAID
    step = take_back_period(schedule, periods, request, NOW)
    assert step.schedule == schedule and step.records == (replace(request, unpaid_at=None),)


def test_a_period_after_the_one_in_work_loses_its_payment_and_is_taken_up_in_its_turn() -> None:
    schedule, periods, requests = run(3)
    first = take_back_period(schedule, periods, lost(requests[0]), NOW).schedule
    step = take_back_period(first, periods, lost(requests[1]), NOW)
    unpaid = replace(periods[1], payment_id=None, amount=None, paid_at=None, tx_hash=None)
    assert step.schedule == first
    assert step.records == (replace(requests[1], status=RequestStatus.CREATED, unpaid_at=None), unpaid)


def test_what_is_lost_is_owed_again() -> None:
    schedule, periods, requests = run(3)
    after = take_back_period(schedule, periods, lost(requests[1]), NOW).schedule
    assert after.committed - schedule.committed == BaseUnits(2 * schedule.permit.payment_total)
