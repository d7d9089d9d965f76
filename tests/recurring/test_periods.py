"""Each step of a period of a recurring payout: what follows from every state of its request and its payment."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.reverts import ALREADY_MADE, NOT_DUE_YET
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.recurring.periods import (
    NO_REASON,
    NOT_RECORDED,
    SHORT_ALLOWANCE,
    SHORT_BALANCE,
    TOO_LATE,
    Facts,
    FailureCode,
    Holdings,
    Step,
    call_of,
    decide_refused,
    decide_step,
    failure_code,
    hold_payment,
    is_due,
    is_paid,
    paused_event,
    period_due,
    recurring_event,
    waiting,
    with_request,
)
from chalicelib.recurring.records import Period, RecurringPayment, RecurringStatus
from chalicelib.relayer.records import CallStatus, Taking
from chalicelib.relayer.rules import SENT_BEFORE
from tests.fakes.recurring import AMOUNT
from tests.fakes.world import START
from tests.recurring.schedules import CONTEXT, NOW, TX_HASH, active, begun, call, payment

RETRY = timedelta(hours=1)
SECOND, SOON = timedelta(seconds=1), timedelta(seconds=30)
MINUTES, HOUR, DAY = timedelta(minutes=5), timedelta(hours=1), timedelta(days=1)
ENDED = [RecurringStatus.PAUSED, RecurringStatus.CANCELLED]


def look(schedule: RecurringPayment, now: datetime = NOW, **facts: Any) -> Step:
    return decide_step(schedule, Facts(**facts), RETRY, replace(CONTEXT, now=now))


def sent(ago: timedelta = SOON, **changes: Any) -> tuple[RecurringPayment, dict[str, Any]]:
    """One whose payment was handed to the relayer, and what is known of it."""
    schedule, period, request = begun(sent_at=NOW - ago, **changes)
    return schedule, {"period": period, "request": request}


def test_a_period_that_is_due_gets_its_request_which_is_handed_to_the_relayer() -> None:
    schedule = active(original_request_id="01a", original_payment_reference="0x12", processed=1)
    step = look(schedule)
    request, period = step.records
    assert isinstance(request, Request) and isinstance(period, Period)
    assert step.schedule == replace(schedule, request_id=request.request_id, sent_at=NOW, check_at=NOW + SOON)
    assert step.request == request and len(step.events) == 1
    assert (request.original_request_id, request.original_payment_reference) == ("01a", "0x12")
    assert request.listening_since == NOW
    assert period == Period(schedule.recurring_id, 2, request.request_id, request.payment_reference)


def test_a_period_with_a_request_is_handed_to_the_relayer() -> None:
    schedule, facts = sent()
    unsent = replace(schedule, sent_at=None)
    expected = Step(replace(schedule, sent_at=NOW, check_at=NOW + SOON), request=facts["request"])
    assert look(unsent, **facts) == expected
    assert look(unsent, **facts, call=call(CallStatus.UNKNOWN)) == expected
    assert look(schedule, **facts) == expected, "no worker has submitted it: it is submitted under the same key"


@pytest.mark.parametrize("status", list(RecurringStatus)[1:])
def test_a_period_that_it_had_before_is_taken_up_as_it_was(status: RecurringStatus) -> None:
    period = begun()[1]
    schedule = active(status=status, attempt=1, unrecorded_since=NOW - HOUR, sent_at=NOW - DAY)
    step = look(schedule, period=replace(period, attempt=3))
    after = replace(schedule, request_id=period.request_id, attempt=3, sent_at=NOW, unrecorded_since=None)
    assert step == Step(after)


@pytest.mark.parametrize(
    ("ago", "until"),
    [
        (timedelta(0), SOON),
        (timedelta(minutes=4), SOON),
        (timedelta(minutes=8), timedelta(minutes=1)),
        (timedelta(minutes=80), timedelta(minutes=10)),
        (timedelta(minutes=88), timedelta(minutes=10)),
    ],
)
def test_a_payment_under_way_is_looked_at_again_after_an_eighth_of_its_age(ago: timedelta, until: timedelta) -> None:
    schedule, facts = sent(ago)
    assert look(schedule, **facts, call=call(CallStatus.UNKNOWN)) == Step(replace(schedule, check_at=NOW + until))


def test_a_nonce_that_was_used_otherwise_leads_to_another_attempt_and_is_no_failure() -> None:
    schedule, facts = sent()
    step = look(schedule, **facts, call=call(CallStatus.SUPERSEDED))
    assert step == Step(replace(schedule, attempt=2, sent_at=None, check_at=NOW))


@pytest.mark.parametrize(
    ("holdings", "notified", "expected"),
    [
        (None, "the contract's reason", "the contract's reason"),
        (None, None, NO_REASON),
        (Holdings(AMOUNT, AMOUNT), "the contract's reason", "the contract's reason"),
        (Holdings(AMOUNT - 1, AMOUNT), "the contract's reason", SHORT_BALANCE),
        (Holdings(AMOUNT, AMOUNT - 1), "the contract's reason", SHORT_ALLOWANCE),
        (Holdings(0, 0), None, SHORT_ALLOWANCE),
    ],
)
def test_a_payment_that_reverted_is_made_again_later(
    holdings: Holdings | None, notified: str | None, expected: str
) -> None:
    schedule, facts = sent(failures=1)
    step = look(schedule, **facts, holdings=holdings, call=call(CallStatus.REVERTED, notified))
    trouble = {"failures": 2, "failure_reason": expected}
    assert step == Step(replace(schedule, attempt=2, sent_at=None, check_at=NOW + RETRY, **trouble))


@pytest.mark.parametrize("has_request", [True, False])
def test_the_third_failure_in_a_row_pauses_it(has_request: bool) -> None:
    schedule, facts = sent(failures=2)
    known = Facts(request=facts["request"] if has_request else None)
    step = decide_refused(schedule, known, "why", RETRY, CONTEXT)
    trouble = {"status": RecurringStatus.PAUSED, "failures": 3, "failure_reason": "why"}
    assert step.schedule == replace(schedule, sent_at=None, check_at=None, **trouble)
    assert len(step.events) == has_request and step.request is None
    assert step.records == ((facts["request"],) if has_request else ()), "its events are counted"


@pytest.mark.parametrize(
    ("reason", "until"),
    [(NOT_DUE_YET, SOON), ("AccessControl: no role", MINUTES), ("Pausable: paused", MINUTES)],
)
def test_what_its_payer_can_do_nothing_about_is_no_failure(reason: str, until: timedelta) -> None:
    schedule, facts = sent(failures=2)
    step = decide_refused(schedule, Facts(**facts), reason, RETRY, CONTEXT)
    assert step == Step(replace(schedule, attempt=2, sent_at=None, check_at=NOW + until))


@pytest.mark.parametrize("has_request", [True, False])
def test_a_payment_whose_block_may_come_after_the_deadline_of_the_permit_is_not_sent(has_request: bool) -> None:
    """It would be reverted, and delay everything that its payer pays on the network by a day."""
    schedule, facts = sent() if has_request else (active(), {})
    unsent, last = replace(schedule, sent_at=None), datetime.fromtimestamp(schedule.permit.deadline, UTC) - SENT_BEFORE
    assert look(unsent, last - SECOND, **facts).request is not None
    step = look(unsent, last, **facts)
    ended = {"status": RecurringStatus.PAUSED, "failure_reason": TOO_LATE, "check_at": None}
    assert step.schedule == replace(unsent, **ended) and step.request is None
    assert step.records == ((facts["request"],) if has_request else ())
    assert [each.kind for each in step.events] == ["payment.failed"] * has_request


def test_each_reason_of_the_service_has_a_code_and_what_a_contract_says_has_one() -> None:
    codes = {failure_code(each) for each in (SHORT_ALLOWANCE, SHORT_BALANCE, NOT_RECORDED, TOO_LATE, "ERC20: paused", NO_REASON)}
    assert codes == set(get_args(FailureCode)) and failure_code(None) is None


def test_after_the_deadline_of_its_permit_what_a_worker_may_have_submitted_is_waited_for_before_it_is_paused() -> None:
    schedule, facts = sent()
    last = datetime.fromtimestamp(schedule.permit.deadline, UTC) - SENT_BEFORE
    begun_now = replace(schedule, sent_at=last)
    assert look(begun_now, last, **facts) == Step(replace(begun_now, check_at=last + SOON))
    assert look(begun_now, last + MINUTES, **facts).schedule.status is RecurringStatus.PAUSED
    under_way = look(begun_now, last + HOUR, **facts, call=call(CallStatus.UNKNOWN))
    assert (under_way.schedule.status, under_way.request) == (RecurringStatus.ACTIVE, None)


def test_one_that_waits_for_others_of_its_payer_keeps_its_attempt() -> None:
    schedule, _ = sent()
    assert waiting(schedule, NOW) == replace(schedule, sent_at=None, check_at=NOW + SOON)


def test_one_that_is_held_keeps_its_request_and_is_handed_over_at_the_next_look() -> None:
    schedule = active()
    step = look(schedule)
    after = hold_payment(schedule, step, NOW)
    assert after == replace(step, schedule=replace(step.schedule, sent_at=None, check_at=NOW + SOON), request=None)
    assert (step.schedule.sent_at, after.schedule.request_id) == (NOW, step.schedule.request_id)


def test_the_event_of_a_request_names_the_first_request_of_its_recurring_payout() -> None:
    step = look(active())
    request = step.records[0]
    assert isinstance(request, Request) and step.events[0].kind == "request.recurring"
    later = replace(request, original_request_id="01a", original_payment_reference="0x12")
    bodies = [json.loads(recurring_event(each, CONTEXT).body) for each in (request, later)]
    originals = [(body["originalRequestId"], body["originalRequestPaymentReference"]) for body in bodies]
    assert originals == [(request.request_id, request.payment_reference), ("01a", "0x12")]


@pytest.mark.parametrize(
    ("reason", "sub_status"),
    [(SHORT_BALANCE, "insufficient_funds"), (SHORT_ALLOWANCE, "failed"), ("why", "failed")],
)
def test_a_pause_for_want_of_tokens_is_told_from_others(reason: str, sub_status: str) -> None:
    schedule, _, request = begun(failure_reason=reason)
    body = json.loads(paused_event(schedule, request, CONTEXT).body)
    assert (body["subStatus"], body["failureReason"]) == (sub_status, reason)


def test_a_payment_that_is_made_is_waited_for_until_it_is_recorded() -> None:
    schedule, facts = sent()
    made = {**facts, "call": call(CallStatus.SUCCEEDED)}
    waits = replace(schedule, unrecorded_since=NOW, check_at=NOW + SOON)
    assert look(schedule, **made, is_recorded=True) == Step(waits)
    assert decide_refused(schedule, Facts(**facts), ALREADY_MADE, RETRY, CONTEXT) == Step(waits)
    late = NOW + HOUR
    again = look(waits, late - timedelta(seconds=1), **made, is_recorded=True).schedule
    assert (again.status, again.unrecorded_since) == (RecurringStatus.ACTIVE, NOW)
    assert look(waits, late, **made).schedule.status is RecurringStatus.ACTIVE, "the chain was not read so far"
    paused = look(waits, late, **made, is_recorded=True)
    ended = {"status": RecurringStatus.PAUSED, "failure_reason": NOT_RECORDED, "sent_at": None, "check_at": None}
    assert paused.schedule == replace(waits, **ended) and len(paused.events) == 1


def test_a_paid_period_is_counted_and_the_next_one_begins_when_it_is_due() -> None:
    trouble: dict[str, Any] = {"failures": 2, "failure_reason": "why", "unrecorded_since": NOW, "attempt": 3}
    schedule, facts = sent(**trouble)
    paid = payment(facts["request"], amount=BaseUnits(AMOUNT + 1))
    step = look(schedule, **facts, payment=paid)
    assert paid.at == NOW - MINUTES
    assert step.schedule == replace(
        schedule,
        processed=1,
        failures=0,
        failure_reason=None,
        last_payment_at=paid.at,
        request_id=None,
        attempt=1,
        sent_at=None,
        unrecorded_since=None,
        check_at=START + DAY,
    )
    known = {"payment_id": paid.payment_id, "amount": paid.amount, "paid_at": paid.at, "tx_hash": TX_HASH, "attempt": 3}
    assert step.records == (replace(facts["period"], **known),)
    assert not step.events and step.request is None


def test_a_period_that_was_due_before_begins_at_once() -> None:
    schedule, facts = sent()
    late = START + 5 * DAY
    assert look(schedule, late, **facts, payment=payment(facts["request"])).schedule.check_at == late


@pytest.mark.parametrize("status", [RecurringStatus.ACTIVE, *ENDED])
def test_with_its_last_payment_it_is_completed_unless_it_was_cancelled(status: RecurringStatus) -> None:
    schedule, facts = sent(status=status, processed=2)
    after = look(schedule, **facts, payment=payment(facts["request"])).schedule
    is_cancelled = status is RecurringStatus.CANCELLED
    assert after.status is (RecurringStatus.CANCELLED if is_cancelled else RecurringStatus.COMPLETED)
    assert (after.processed, after.check_at, after.sent_at) == (3, None, None)


@pytest.mark.parametrize("status", ENDED)
def test_a_payment_of_one_that_has_ended_is_counted_and_what_a_fork_left_is_looked_for(status: RecurringStatus) -> None:
    schedule, facts = sent(status=status)
    after = look(schedule, **facts, payment=payment(facts["request"])).schedule
    assert (after.status, after.processed, after.check_at, after.sent_at) == (status, 1, NOW, None)
    assert look(after) == Step(replace(after, check_at=None))


@pytest.mark.parametrize("status", ENDED)
@pytest.mark.parametrize(
    ("ago", "found", "is_open"),
    [
        (MINUTES - timedelta(seconds=1), None, True),
        (MINUTES, None, False),
        (DAY, CallStatus.UNKNOWN, True),
        (DAY, CallStatus.SUCCEEDED, True),
        (SOON, CallStatus.REVERTED, False),
        (SOON, CallStatus.SUPERSEDED, False),
    ],
)
def test_one_that_has_ended_is_looked_at_while_its_payment_can_still_be_found(
    status: RecurringStatus, ago: timedelta, found: CallStatus | None, is_open: bool
) -> None:
    schedule, facts = sent(ago, status=status)
    step = look(schedule, **facts, call=call(found) if found else None)
    until = NOW + min(max(ago / 8, SOON), timedelta(minutes=10))
    assert step == Step(replace(schedule, check_at=until if is_open else None))
    unsent = replace(schedule, sent_at=None)
    assert look(unsent, **facts, call=call(CallStatus.UNKNOWN)) == Step(replace(unsent, check_at=None))


def test_it_is_due_from_the_time_of_its_next_look_on() -> None:
    schedule = active(check_at=NOW)
    second = timedelta(seconds=1)
    assert [is_due(schedule, NOW + each) for each in (-second, timedelta(0), second)] == [False, True, True]
    assert not is_due(replace(schedule, check_at=None), NOW)


@given(processed=st.integers(0, 254), attempt=st.integers(1, 9))
def test_each_attempt_of_each_period_is_one_call_that_takes_the_amount_with_its_fees(
    processed: int, attempt: int
) -> None:
    schedule = active(processed=processed, attempt=attempt)
    request = with_request(schedule, CONTEXT)[1]
    found, spender = call_of(schedule, request), address_of(RECURRING_PROXY, "sepolia")
    permit = schedule.permit
    assert (found.key, found.network) == (f"recurring/{schedule.recurring_id}/{processed + 1}/{attempt}", "sepolia")
    assert (found.to, found.value, found.gas_limit) == (spender, 0, 500_000)
    assert found.account_id == schedule.template.account_id, "whose share of the day it uses"
    assert f"{processed + 1:064x}" in found.data and request.payment_reference[2:] in found.data
    assert found.data.count("12" * 65) == 1, "the signature"
    assert found.takes == Taking(permit.subscriber, permit.token, spender, BaseUnits(permit.payment_total))


def test_a_request_is_paid_by_its_status() -> None:
    request = begun()[2]
    assert is_paid(replace(request, status=RequestStatus.PAID))
    assert not is_paid(replace(request, status=RequestStatus.PARTIALLY_PAID)) and not is_paid(None)
    assert period_due(active(processed=2)) == START + 2 * DAY
