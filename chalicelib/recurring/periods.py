"""Decides each step of a period of a recurring payout: its request, its payment, and failures.

    no request --> request, not sent --> sent --> paid: the next period, or completed
                       ^                   |
                       +---- after a delay +--> failed for good; the third time in a row: paused

A period is paid when the recorder has found its payment on the chain, by whatever transaction: the request of a period
can also be paid by hand, and is then passed over. What became of a transaction decides only about another attempt, and
that has to be final. An attempt of which nothing is known yet is looked at again, and never repeated under another key.

If a fork takes the payment of a counted period away, that is the period in work again, with the request and the
attempt that it had; the periods after it are taken up again as they were. A payment that is made, and that the recorder
does not find though it has read the chain past it, ends in a pause.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Record
from chalicelib.chains.calldata import recurring as recurring_calldata
from chalicelib.chains.calldata.reverts import ALREADY_MADE, NOT_DUE_YET
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.payments.events import Counted, event, failed_event
from chalicelib.payments.requests.calendar import due_at
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.recurring import copy_of
from chalicelib.recurring.records import Commitment, Period, RecurringPayment, RecurringStatus
from chalicelib.relayer.records import CallStatus, RelayedCall, Taking
from chalicelib.relayer.rules import SENT_BEFORE, Call
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext

MOST_FAILURES = 3
MOST_GAS = 500_000
"""Of a payment, which takes about 131,000 and calls no code but the contract's, the fee proxy's and the token's."""
MIN_LOOK_DELAY, MAX_LOOK_DELAY = timedelta(seconds=30), timedelta(minutes=10)
"""The delay until the next look at a payment that was sent: an eighth of the time since, within these bounds."""
_LOOKS_PER_AGE = 8
POSTPONED_FOR = timedelta(minutes=5)
UNRECORDED_AFTER = timedelta(hours=1)
"""How long the recorder has to find a payment that is known to be made. It takes minutes."""
IN_FLIGHT = timedelta(minutes=5)
"""How long after a payment was to be sent a worker may still be about to send it; workers end after a minute."""
OPERATORS = ("AccessControl", "Pausable")
"""What the reasons begin with for which the contract makes no payments of this service at all: the payer can do nothing
about them."""
NO_REASON = "the payment reverted without a reason"
NOT_RECORDED = "The payment was made, but the fee proxy of this network has no event of it"
TOO_LATE = "The permit of this recurring payment can be used no longer"
SHORT_ALLOWANCE, SHORT_BALANCE = "Insufficient token allowance", "Insufficient token balance"

FailureCode = Literal["insufficient_allowance", "insufficient_funds", "not_recorded", "permit_over", "reverted"]
FAILURES: dict[str, FailureCode] = {
    SHORT_ALLOWANCE: "insufficient_allowance",
    SHORT_BALANCE: "insufficient_funds",
    NOT_RECORDED: "not_recorded",
    TOO_LATE: "permit_over",
}
"""The codes of reasons; any other reason is what the contract or a node says of a payment that would revert."""
REVERTED: FailureCode = "reverted"


@frozen
class Holdings:
    """What a payer has of the token, and what of it the contract may take, in base units."""

    balance: int
    allowance: int


@frozen
class Facts:
    """What is known of the period in work: its request, the payment that completed it, the call of the attempt, and, if
    that failed, what the payer has. `is_recorded`: nothing is left to record of what was on the chain by
    `unrecorded_since`."""

    period: Period | None = None
    request: Request | None = None
    payment: Payment | None = None
    call: RelayedCall | None = None
    holdings: Holdings | None = None
    is_recorded: bool = False


@frozen
class Step:
    """What changes: the recurring payout, records beside it, and events; those have their requests among the records.

    `request` is set if its payment has to be handed to the relayer once this is written."""

    schedule: RecurringPayment
    records: tuple[Record, ...] = ()
    events: tuple[Event, ...] = ()
    request: Request | None = None


def commitment_of(schedule: RecurringPayment) -> Commitment:
    """The commitment that counts a recurring payout, without its amount."""
    return Commitment(schedule.template.currency, schedule.permit.subscriber.lower())


def period_due(schedule: RecurringPayment) -> datetime:
    """When the period in work is due."""
    return due_at(schedule.start, schedule.frequency, schedule.period)


def is_due(schedule: RecurringPayment, now: datetime) -> bool:
    return schedule.check_at is not None and schedule.check_at <= now


def decide_step(schedule: RecurringPayment, facts: Facts, retry_after: timedelta, context: EventContext) -> Step:
    """What a look at a recurring payout leads to that is due."""
    now = context.now
    if facts.payment is not None and facts.period is not None:
        return count_period(schedule, facts.period, facts.payment, now)
    if schedule.request_id is None and facts.period is not None:
        return Step(take_up_period(schedule, facts.period, now))
    if schedule.status is not RecurringStatus.ACTIVE:
        return Step(_look_again(schedule, now) if _may_be_paid(schedule, facts, now) else at_rest(schedule))
    if _comes_too_late(schedule, now) and (schedule.sent_at is None or facts.call is None):
        if _may_be_paid(schedule, facts, now):
            return Step(_look_again(schedule, now))
        return _pause_schedule(replace(schedule, failure_reason=TOO_LATE), facts, context)
    if schedule.request_id is None:
        created, request = with_request(schedule, context)
        return replace(created, schedule=_mark_sent(created.schedule, now), request=request)
    if schedule.sent_at is None or facts.call is None:
        return Step(_mark_sent(schedule, now), request=facts.request)
    if facts.call.status is CallStatus.SUPERSEDED:  # the trouble of the service's own account, not of the payer
        return Step(later(schedule, now))
    if has_failed(facts.call):
        return decide_refused(schedule, facts, facts.call.reason or NO_REASON, retry_after, context)
    if facts.call.status is CallStatus.SUCCEEDED:
        return _await_recording(schedule, facts, context)
    return Step(_look_again(schedule, now))


def is_overdue(schedule: RecurringPayment, now: datetime) -> bool:
    """Whether the recorder should have found a payment by now."""
    return schedule.unrecorded_since is not None and now - schedule.unrecorded_since >= UNRECORDED_AFTER


def failure_code(reason: str | None) -> FailureCode | None:
    """The code of the reason for which a payment failed last."""
    return None if reason is None else FAILURES.get(reason, "reverted")


def is_operators(reason: str) -> bool:
    """Whether the contract refuses payments for a reason that its payer can do nothing about."""
    return reason.startswith(OPERATORS)


def has_failed(call: RelayedCall) -> bool:
    """Whether a call had no effect, and never will."""
    return call.status in (CallStatus.REVERTED, CallStatus.SUPERSEDED)


def decide_refused(
    schedule: RecurringPayment, facts: Facts, reason: str, retry_after: timedelta, context: EventContext
) -> Step:
    """What follows when an attempt has failed for good: another one later, or a pause after the third in a row.

    Nothing has failed if the newest block is older than the date, or the payment was made and is not recorded yet.
    """
    now = context.now
    if reason == ALREADY_MADE:
        return _await_recording(schedule, facts, context)
    if reason == NOT_DUE_YET:
        return Step(later(schedule, now + MIN_LOOK_DELAY))
    if is_operators(reason):
        return Step(postpone_look(schedule, now))
    failed = replace(schedule, failures=schedule.failures + 1, failure_reason=_reason(schedule, reason, facts.holdings))
    if failed.failures < MOST_FAILURES:
        return Step(later(failed, now + retry_after))
    return _pause_schedule(failed, facts, context)


def postpone_look(schedule: RecurringPayment, now: datetime) -> RecurringPayment:
    """The recurring payout if the service cannot make its payment now, which is not due to its payer."""
    return later(schedule, now + POSTPONED_FOR)


def hold_payment(schedule: RecurringPayment, step: Step, now: datetime) -> Step:
    """The step without handing its payment over now, as its payer has as many open calls as it may."""
    after = replace(step.schedule, sent_at=schedule.sent_at, check_at=now + MIN_LOOK_DELAY)
    return replace(step, schedule=after, request=None)


def waiting(schedule: RecurringPayment, now: datetime) -> RecurringPayment:
    """The recurring payout if other payments of its payer, which are under way, have to end first."""
    return replace(schedule, sent_at=None, check_at=now + MIN_LOOK_DELAY)


def call_of(schedule: RecurringPayment, request: Request) -> Call:
    """The call of the contract that makes the payment of the period in work. Those of a whole payroll are due at once,
    so a payer may have many open calls."""
    assert schedule.signature is not None, "it was activated"
    reference = bytes.fromhex(request.payment_reference[2:])
    signature = bytes.fromhex(schedule.signature[2:])
    trigger = recurring_calldata.trigger(schedule.permit, schedule.network, signature, schedule.period, reference)
    permit, spender = schedule.permit, address_of(RECURRING_PROXY, schedule.network)
    taking = Taking(permit.subscriber, permit.token, spender, BaseUnits(permit.payment_total))
    key, account_id = call_key(schedule), schedule.template.account_id
    made = (trigger.to, trigger.data, trigger.value)
    payers = (permit.subscriber,)
    return Call(
        key, schedule.network, *made, MOST_GAS, taking, account_id=account_id, payers=payers, many_open=True
    )


def call_key(schedule: RecurringPayment) -> str:
    """What the relayer knows the attempt by."""
    return f"recurring/{schedule.recurring_id}/{schedule.period}/{schedule.attempt}"


def is_paid(request: Request | None) -> bool:
    return request is not None and request.status is RequestStatus.PAID


def with_request(schedule: RecurringPayment, context: EventContext) -> tuple[Step, Request]:
    """The recurring payout with the request of its period in work, and this request, which is new."""
    request = replace(
        copy_of(schedule.template, context.now, context.entropy),
        original_request_id=schedule.original_request_id,
        original_payment_reference=schedule.original_payment_reference,
        listening_since=context.now,
    )
    period = Period(schedule.recurring_id, schedule.period, request.request_id, request.payment_reference)
    after = replace(schedule, request_id=request.request_id)
    return Step(after, (request, period), events=(recurring_event(request, context),)), request


def _await_recording(schedule: RecurringPayment, facts: Facts, context: EventContext) -> Step:
    """The payment is made, and not recorded: that is waited for, and given up when the chain was read past it."""
    after = replace(schedule, unrecorded_since=schedule.unrecorded_since or context.now)
    if is_overdue(after, context.now) and facts.is_recorded:
        return _pause_schedule(replace(after, failure_reason=NOT_RECORDED), facts, context)
    return Step(_look_again(after, context.now))


def _pause_schedule(schedule: RecurringPayment, facts: Facts, context: EventContext) -> Step:
    paused = at_rest(replace(schedule, status=RecurringStatus.PAUSED, sent_at=None))
    if facts.request is None:
        return Step(paused)
    return Step(paused, (facts.request,), (paused_event(paused, facts.request, context),))


def recurring_event(request: Request, context: EventContext) -> Event:
    """`request.recurring` for a new request. The first one of a recurring payout is its own original."""
    return event(
        request,
        "request.recurring",
        context,
        originalRequestId=request.original_request_id or request.request_id,
        originalRequestPaymentReference=request.original_payment_reference or request.payment_reference,
    )


def paused_event(schedule: RecurringPayment, request: Request, context: EventContext) -> Event:
    """`payment.failed` when a recurring payout is paused; `request` is that of its period."""
    sub_status = "insufficient_funds" if schedule.failure_reason == SHORT_BALANCE else "failed"
    counted = Counted(request.amount)
    return failed_event(request, schedule.failure_reason, context, counted, None, subStatus=sub_status)


def take_up_period(schedule: RecurringPayment, period: Period, now: datetime) -> RecurringPayment:
    """The recurring payout with a period in work that it had before: its payment may be under way."""
    return replace(
        schedule,
        request_id=period.request_id,
        attempt=period.attempt,
        sent_at=now,
        unrecorded_since=None,
    )


def count_period(schedule: RecurringPayment, period: Period, payment: Payment, now: datetime) -> Step:
    """The period in work is paid: the next one begins when it is due, at once if it was due before."""
    period = replace(
        period,
        payment_id=payment.payment_id,
        amount=payment.amount,
        paid_at=payment.at,
        tx_hash=payment.tx_hash,
        attempt=schedule.attempt,
    )
    after = replace(
        schedule,
        processed=schedule.processed + 1,
        failures=0,
        failure_reason=None,
        last_payment_at=payment.at,
        request_id=None,
        attempt=1,
        sent_at=None,
        unrecorded_since=None,
    )
    if after.processed == after.total and after.status is not RecurringStatus.CANCELLED:
        after = replace(after, status=RecurringStatus.COMPLETED)
    if after.processed == after.total:
        return Step(at_rest(after), records=(period,))
    is_active = after.status is RecurringStatus.ACTIVE
    return Step(replace(after, check_at=max(now, period_due(after)) if is_active else now), records=(period,))


def _comes_too_late(schedule: RecurringPayment, now: datetime) -> bool:
    """Whether the deadline of the permit may be over when the block of a payment comes that is sent now."""
    return now >= datetime.fromtimestamp(schedule.permit.deadline, UTC) - SENT_BEFORE


def _may_be_paid(schedule: RecurringPayment, facts: Facts, now: datetime) -> bool:
    """Whether a payment that was to be sent before the recurring payout ended can still be found on the chain."""
    if schedule.sent_at is None:
        return False
    if facts.call is None:
        return now < schedule.sent_at + IN_FLIGHT
    return not has_failed(facts.call)


def _reason(schedule: RecurringPayment, reason: str, holdings: Holdings | None) -> str:
    if holdings is not None and holdings.allowance < schedule.permit.payment_total:
        return SHORT_ALLOWANCE
    if holdings is not None and holdings.balance < schedule.permit.payment_total:
        return SHORT_BALANCE
    return reason


def _mark_sent(schedule: RecurringPayment, now: datetime) -> RecurringPayment:
    return replace(schedule, sent_at=now, check_at=now + MIN_LOOK_DELAY)


def _look_again(schedule: RecurringPayment, now: datetime) -> RecurringPayment:
    assert schedule.sent_at is not None, "it was sent"
    delay = (now - schedule.sent_at) / _LOOKS_PER_AGE
    return replace(schedule, check_at=now + min(max(delay, MIN_LOOK_DELAY), MAX_LOOK_DELAY))


def later(schedule: RecurringPayment, at: datetime) -> RecurringPayment:
    """The recurring payout with another attempt from then on."""
    return replace(schedule, attempt=schedule.attempt + 1, sent_at=None, check_at=at)


def at_rest(schedule: RecurringPayment) -> RecurringPayment:
    """The recurring payout without another look at it."""
    return replace(schedule, check_at=None)
