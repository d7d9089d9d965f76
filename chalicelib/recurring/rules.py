"""Decides what people do with a recurring payout: its payer signs it, its owner cancels and resumes it."""

from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest
from chalicelib.base.signatures import recover_digest, signature_bytes
from chalicelib.chains.calldata import recurring as recurring_calldata
from chalicelib.recurring.periods import NOT_RECORDED, Step, at_rest, later, period_due, with_request
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.webhooks.rules import EventContext


def activate_schedule(schedule: RecurringPayment, signature: str, context: EventContext) -> Step:
    """What the payer's signature leads to: the first request, which is the original of the others.

    Raises BadRequest, also for a signature of another wallet, chain or permit.
    """
    check_unsigned(schedule)
    active = replace(schedule, status=RecurringStatus.ACTIVE, signature=_parse_signature(schedule, signature))
    step, request = with_request(active, context)
    after = replace(
        step.schedule,
        original_request_id=request.request_id,
        original_payment_reference=request.payment_reference,
        check_at=max(context.now, period_due(active)),
    )
    return replace(step, schedule=after)


def check_unsigned(schedule: RecurringPayment) -> None:
    """Raises BadRequest unless the recurring payout waits for the signature of its payer."""
    if schedule.status is not RecurringStatus.PENDING:
        ended = {RecurringStatus.CANCELLED: "cancelled", RecurringStatus.COMPLETED: "completed"}
        raise BadRequest(f"Recurring payment is already {ended.get(schedule.status, 'active')}")


def cancel_schedule(schedule: RecurringPayment, now: datetime) -> Step:
    """The recurring payout without its other payments. One that was sent can still be made. Raises BadRequest."""
    if schedule.status is RecurringStatus.CANCELLED:
        raise BadRequest("Recurring payment is already cancelled")
    if schedule.status is RecurringStatus.COMPLETED:
        raise BadRequest("Cannot cancel a completed recurring payment")
    after = replace(schedule, status=RecurringStatus.CANCELLED)
    return Step(replace(after, check_at=now) if schedule.sent_at is not None else at_rest(after))


def resume_schedule(schedule: RecurringPayment, now: datetime) -> Step:
    """A paused recurring payout as active again: the payments that were missed are made one after the other.

    If the period that it had paused in was paid meanwhile, it goes on at the date of the next one. An attempt that was
    made and not recorded is waited for again: a fork may have taken it back, and then it can still be made. Raises
    BadRequest.
    """
    if schedule.status is not RecurringStatus.PAUSED:
        raise BadRequest("Recurring payment is not paused")
    if now.timestamp() > schedule.permit.deadline:
        raise BadRequest("The permit of this recurring payment can be used no longer: create another one")
    active = replace(schedule, status=RecurringStatus.ACTIVE, failures=0, failure_reason=None, unrecorded_since=None)
    if schedule.failure_reason == NOT_RECORDED:
        return Step(replace(active, sent_at=now, check_at=now))
    return Step(later(active, max(now, period_due(active))))


def _parse_signature(schedule: RecurringPayment, text: str) -> str:
    """The signature with 27 or 28 as v, which the contract requires. Raises BadRequest."""
    try:
        signature = signature_bytes(text)
    except BadRequest:
        raise BadRequest("Invalid signature provided") from None
    if (
        recover_digest(recurring_calldata.digest(schedule.permit, schedule.network), signature)
        != schedule.permit.subscriber
    ):
        raise BadRequest("Invalid signature provided")
    return "0x" + (signature[:64] + bytes([27 + signature[64] % 27])).hex()
