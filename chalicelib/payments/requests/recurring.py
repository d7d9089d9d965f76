"""Requests that recur: the new request of each date, until the recurrence is stopped.

The request that was created with a recurrence is that of the first date. Dates are those of
payments/requests/calendar.py. A date that is missed because the schedule did not run is made up for; one that passes
while the recurrence is stopped is not.
"""

from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.payments.requests.calendar import at_period, start_recurrence
from chalicelib.payments.requests.creation import new_request
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of
from chalicelib.payments.requests.targets import Target
from chalicelib.platform.access.callers import Owner


@frozen
class Recurred:
    """The original with its next date, and the new request."""

    original: Request
    request: Request


def recur(original: Request, now: datetime, entropy: Entropy) -> Recurred | None:
    """What one date leads to; None if none is due."""
    recurrence = original.recurrence
    if recurrence is None or recurrence.next_at is None or recurrence.next_at > now:
        return None
    after = at_period(recurrence, recurrence.period + 1)
    request = replace(
        copy_of(original, now, entropy),
        original_request_id=original.request_id,
        original_payment_reference=original.payment_reference,
    )
    return Recurred(replace(original, recurrence=after), request)


def copy_of(request: Request, now: datetime, entropy: Entropy) -> Request:
    """A new unpaid request for the same, that stands by itself and has an id and a reference of its own."""
    invoice = invoice_of(request) if request.invoice_currency is not None else None
    target = Target(request.payee, currency_of(request), request.amount, invoice, request.payee_name)
    owner = Owner(request.account_id, request.client_id, request.origin, mode=request.created_with)
    return replace(
        new_request(None, 0, target, owner, now, entropy),
        payer=request.payer,
        reference=request.reference,
        customer_info=request.customer_info,
        fee_percentage=request.fee_percentage,
        fee_address=request.fee_address,
        recurring_payment_id=request.recurring_payment_id,
    )


def with_recurrence(request: Request, is_stopped: bool, now: datetime) -> Request:
    """The request with its recurrence stopped or resumed at `now`. Raises BadRequest if it has none."""
    recurrence = request.recurrence
    if recurrence is None:
        raise BadRequest("This request has no recurrence, so there is nothing to stop or to resume")
    if is_stopped:
        return replace(request, recurrence=replace(recurrence, is_stopped=True, next_at=None))
    if not recurrence.is_stopped:
        return request
    return replace(request, recurrence=start_recurrence(replace(recurrence, is_stopped=False), now))
