"""Whether what was paid of a request can be accepted as full payment, and what changes by it.

So much is owed of it from then on: it is paid, and its link with it if that was the last one. What arrives afterwards
is not owed, and is offered to be refunded as for any request that is paid (payments/transfers/rules.py). If a fork
removes a payment that was accepted, what was paid by it is owed again, and no more.
"""

from dataclasses import replace
from datetime import datetime

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.payments.links.cancelling.rules import check_not_under_way
from chalicelib.payments.links.records import Flow, Link, Payable
from chalicelib.payments.recording.events import accepted_event
from chalicelib.payments.recording.matching import complete
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext


@frozen
class Accepted:
    """A request that was accepted as paid, its link if it has one, and the event of it.

    The link is written whether it changes or not, so that an announcement for it and the acceptance conflict.
    """

    request: Request
    link: Link | None
    event: Event


def is_accepted(request: Request) -> bool:
    """Whether a request is paid because less was accepted: accepting it again changes nothing."""
    return request.status is RequestStatus.PAID and request.paid_when_accepted is not None


def check(request: Request, payable: Payable) -> None:
    """Raises BadRequest for what is never accepted, Conflict if nothing can be accepted now, or if money for it may be
    under way."""
    _check_kind(request, payable)
    if request.is_cancelled:
        raise Conflict("This was cancelled: refund what was received, or create a new request for it")
    if request.status is RequestStatus.PAID:
        raise Conflict("This is paid already: what was paid too much can be refunded")
    if not request.paid or request.tx_hash is None:
        raise Conflict(
            "No payment of this counts, so there is nothing to accept: ask for the payment, or cancel this; what was "
            "sent in another token can be refunded"
        )
    if request.refunded >= request.received:
        raise Conflict("What was received of this was refunded, so there is nothing to accept: cancel this")
    check_not_under_way(payable)


def accept_as_paid(payable: Payable, request: Request, now: datetime, context: EventContext) -> Accepted:
    """What changes when what was paid of `request` is accepted as full payment."""
    after = replace(request, status=RequestStatus.PAID, accepted_at=now, paid_when_accepted=request.paid)
    return Accepted(after, complete(payable, after, now) or payable.link, accepted_event(payable, after, context))


def _check_kind(request: Request, payable: Payable) -> None:
    link = payable.link
    if request.recurring_payment_id is not None:
        raise BadRequest("A period of a recurring payout is paid whole or not at all: it cannot be accepted in part")
    if link is not None and link.flow is Flow.PAY:
        raise BadRequest(
            f"A payout is ended by who pays it: POST /v2/secure-payments/{link.token}/cancel ends what is left of it"
        )
    if payable.commerce is not None:
        raise BadRequest("Of a commerce payment what is captured is paid: capture what is held, or void it")
    if request.is_crypto_to_fiat:
        raise BadRequest(
            "This is paid out to a bank account, for which the provider needs the whole amount: ask for the rest, or "
            "refund what was received"
        )
