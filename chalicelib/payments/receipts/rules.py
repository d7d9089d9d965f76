"""Which payments a receipt names."""

from collections.abc import Iterable

from chalicelib.base.errors import Conflict
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request


def payments_of_receipt(request: Request, payments: Iterable[Payment]) -> tuple[Payment, ...]:
    """The payments of a request that count, by time. Raises Conflict without any."""
    confirmed = (each for each in payments if each.status is PaymentStatus.CONFIRMED)
    if not (found := tuple(sorted(confirmed, key=lambda each: (each.at, each.payment_id)))):
        message = f"Nothing was paid of request {request.request_id}: ask for its receipt when a payment is confirmed"
        raise Conflict(message)
    return found
