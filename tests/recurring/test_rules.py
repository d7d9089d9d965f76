"""Signatures, cancellations and resumptions of recurring payouts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.payments.requests.records import Request
from chalicelib.recurring.periods import NOT_RECORDED, period_due
from chalicelib.recurring.records import Period, RecurringStatus
from chalicelib.recurring.rules import activate_schedule, cancel_schedule, resume_schedule
from tests.fakes.recurring import signature_of
from tests.recurring.schedules import CONTEXT, NOW, active, created


def test_an_activated_one_has_its_first_request_which_is_the_original_of_the_others() -> None:
    schedule = created()
    step = activate_schedule(schedule, signature_of(schedule), CONTEXT)
    request, period = step.records
    assert isinstance(request, Request) and isinstance(period, Period)
    assert step.schedule == replace(
        schedule,
        status=RecurringStatus.ACTIVE,
        signature=signature_of(schedule),
        request_id=request.request_id,
        original_request_id=request.request_id,
        original_payment_reference=request.payment_reference,
        check_at=NOW,
    )
    assert (period.number, period.request_id) == (1, request.request_id)
    assert len(step.events) == 1 and step.request is None


def test_one_that_starts_later_is_looked_at_when_it_starts() -> None:
    schedule = created(start_date="2101-01-31")
    after = activate_schedule(schedule, signature_of(schedule), CONTEXT).schedule
    assert after.check_at == datetime(2101, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (RecurringStatus.ACTIVE, "active"),
        (RecurringStatus.PAUSED, "active"),
        (RecurringStatus.CANCELLED, "cancelled"),
        (RecurringStatus.COMPLETED, "completed"),
    ],
)
def test_only_one_that_waits_for_its_signature_is_activated(status: RecurringStatus, word: str) -> None:
    schedule = replace(created(), status=status)
    with pytest.raises(BadRequest, match=f"Recurring payment is already {word}$"):
        activate_schedule(schedule, signature_of(schedule), CONTEXT)


def test_a_cancelled_one_is_looked_at_while_a_payment_of_it_may_be_under_way() -> None:
    later = NOW + timedelta(days=1)
    sent, unsent = active(sent_at=NOW, check_at=later), active(check_at=later)
    assert cancel_schedule(sent, NOW).schedule == replace(sent, status=RecurringStatus.CANCELLED, check_at=NOW)
    assert cancel_schedule(unsent, NOW).schedule == replace(unsent, status=RecurringStatus.CANCELLED, check_at=None)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(RecurringStatus.CANCELLED, "already cancelled"), (RecurringStatus.COMPLETED, "Cannot cancel a completed")],
)
def test_one_that_has_ended_is_not_cancelled(status: RecurringStatus, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        cancel_schedule(active(status=status), NOW)


def test_only_its_payers_signature_of_its_permit_activates_one() -> None:
    schedule = created()
    for signature in ("0x12", signature_of(created(total_payments=4))):
        with pytest.raises(BadRequest, match="Invalid signature provided"):
            activate_schedule(schedule, signature, CONTEXT)


def test_a_resumed_one_makes_another_attempt_now_without_failures() -> None:
    trouble: dict[str, Any] = {"failures": 3, "failure_reason": "Insufficient token balance", "unrecorded_since": NOW}
    paused = active(status=RecurringStatus.PAUSED, attempt=3, check_at=None, **trouble)
    active_again = {"status": RecurringStatus.ACTIVE, "failures": 0, "failure_reason": None, "unrecorded_since": None}
    assert resume_schedule(paused, NOW).schedule == replace(paused, **active_again, attempt=4, check_at=NOW)


def test_a_resumed_one_whose_period_was_paid_by_hand_meanwhile_goes_on_at_the_next_date() -> None:
    paused = active(status=RecurringStatus.PAUSED, processed=1)
    step = resume_schedule(paused, NOW)
    assert step.schedule.check_at == period_due(paused) > NOW


def test_a_resumed_one_waits_again_for_an_attempt_that_was_made_and_not_recorded() -> None:
    paused = active(status=RecurringStatus.PAUSED, failure_reason=NOT_RECORDED, request_id="request", attempt=3)
    step = resume_schedule(paused, NOW)
    active_again = {"status": RecurringStatus.ACTIVE, "failure_reason": None, "sent_at": NOW, "check_at": NOW}
    assert step.schedule == replace(paused, **active_again) and step.schedule.attempt == 3


def test_a_paused_one_is_resumed_until_its_permit_ends() -> None:
    paused = active(status=RecurringStatus.PAUSED)
    deadline = datetime.fromtimestamp(paused.permit.deadline, UTC)
    assert resume_schedule(paused, deadline).schedule.status is RecurringStatus.ACTIVE
    with pytest.raises(BadRequest, match="can be used no longer"):
        resume_schedule(paused, deadline + timedelta(seconds=1))
