"""Requests that recur: the new request of each date, until the recurrence is stopped.

The request that was created with a recurrence is that of the first date. Dates are those of requests/calendar.py. A
date that is missed because the schedule did not run is made up for; one that passes while the recurrence is stopped is
not.
"""

from dataclasses import replace
from datetime import datetime

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits
from chalicelib.requests.calendar import due_at, start_of
from chalicelib.requests.records import Recurrence, Request, RequestStatus
from chalicelib.requests.references import payment_reference


@frozen
class Recurred:
    """The original with its next date, and the new request."""

    original: Request
    request: Request


def recurred(original: Request, now: datetime, entropy: Entropy) -> Recurred | None:
    """What one date leads to; None if none is due."""
    recurrence = original.recurrence
    if recurrence is None or recurrence.next_at is None or recurrence.next_at > now:
        return None
    after = _at(recurrence, (recurrence.period or 1) + 1)
    copied = copy_of(original, now, entropy)
    request = replace(
        copied,
        recurrence=None,
        original_request_id=original.request_id,
        original_payment_reference=original.payment_reference,
    )
    return Recurred(replace(original, recurrence=after), request)


def copy_of(request: Request, now: datetime, entropy: Entropy) -> Request:
    """A new unpaid request for the same, that stands by itself and has an id and a reference of its own."""
    request_id, salt = ids.request_id(entropy), ids.salt(entropy)
    return replace(
        request,
        bill_id=request_id,
        position=0,
        request_id=request_id,
        salt=salt,
        payment_reference="0x" + payment_reference(request_id, salt, request.payee).hex(),
        status=RequestStatus.CREATED,
        paid=BaseUnits(0),
        tx_hash=None,
        payment_count=0,
        unlisted_count=0,
        unlisted_amount=BaseUnits(0),
        unknown_token_count=0,
        other_payee_count=0,
        right_payee_count=0,
        created_at=now,
        listening_since=None,
        version=0,
    )


def started(recurrence: Recurrence, now: datetime) -> Recurrence:
    """The recurrence with its first date after `now` as the next one. The first date of all has its request."""
    period = recurrence.period or 1
    after = _at(recurrence, period)
    while after.next_at is not None and after.next_at <= now:
        period += 1
        after = _at(recurrence, period)
    return after


def with_recurrence(request: Request, is_stopped: bool, now: datetime) -> Request:
    """The request with its recurrence stopped or resumed at `now`. Raises BadRequest if it has none."""
    recurrence = request.recurrence
    if recurrence is None:
        raise BadRequest("This request has no recurrence, so there is nothing to stop or to resume")
    if is_stopped:
        return replace(request, recurrence=replace(recurrence, is_stopped=True, next_at=None))
    if not recurrence.is_stopped and recurrence.next_at is not None:
        return request
    return replace(request, recurrence=started(replace(recurrence, is_stopped=False), now))


def _at(recurrence: Recurrence, period: int) -> Recurrence:
    """The recurrence after a period; there is no date after the year 9999."""
    try:
        following = due_at(start_of(recurrence.start_date), recurrence.frequency, period + 1)
    except (ValueError, OverflowError):
        return replace(recurrence, period=period, next_at=None)
    return replace(recurrence, period=period, next_at=following)
