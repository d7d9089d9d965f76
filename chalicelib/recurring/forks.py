"""Decides what follows for a recurring payout when a fork takes the payment of one of its periods away."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.payments.requests.records import Request
from chalicelib.recurring.periods import MAX_LOOK_DELAY, Step, is_paid, take_up_period
from chalicelib.recurring.records import Period, RecurringPayment, RecurringStatus


def take_back_period(schedule: RecurringPayment, periods: Sequence[Period], request: Request, now: datetime) -> Step:
    """What follows when a fork took the payment of a period away: it is the period in work, if it was counted.

    It is looked at after the longest delay, in which its transaction may get into another block. `request` is its
    request, which is marked. A period that is paid again changes nothing else.
    """
    by_number = {each.number: each for each in periods}
    lost = next(each for each in periods if each.request_id == request.request_id)
    observed = replace(request, unpaid_at=None)
    if is_paid(request):
        return Step(schedule, (observed,))
    unpaid = replace(lost, payment_id=None, amount=None, paid_at=None, tx_hash=None)
    if lost.number > schedule.processed:
        return Step(schedule, (observed, unpaid))
    last, in_work = by_number.get(lost.number - 1), by_number.get(schedule.period)
    kept = () if in_work is None else (replace(in_work, attempt=schedule.attempt),)
    after = replace(
        take_up_period(schedule, lost, now),
        status=RecurringStatus.ACTIVE if schedule.status is RecurringStatus.COMPLETED else schedule.status,
        processed=lost.number - 1,
        last_payment_at=last.paid_at if last is not None else None,
        check_at=now + MAX_LOOK_DELAY,
    )
    return Step(after, (observed, unpaid, *kept))
