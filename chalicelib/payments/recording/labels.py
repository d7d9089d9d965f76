"""Labels: what is not as it was asked for about a transfer, as events name it. Pure."""

from datetime import datetime
from enum import StrEnum

from chalicelib.payments.links.records import Link, Payable
from chalicelib.payments.requests.payments.records import Payment, UnmatchedTransfer
from chalicelib.payments.requests.records import Request, RequestStatus


class Label(StrEnum):
    OVER = "over"
    """It completes the request, and more than is owed of it is paid then."""
    UNDER = "under"
    """Less than the amount of the request is paid with it. If the request is paid, its owner has accepted that."""
    LATE = "late"
    """Its block is of the time of the link's expiry or later."""
    DUPLICATE = "duplicate"
    """The request was paid or cancelled before it."""
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a label, no secret
    """It is in another token than that of the request, or in the native coin."""
    WRONG_NETWORK = "wrong_network"
    """It is on another network than that of the request."""
    WRONG_PAYEE = "wrong_payee"
    """Another address than the payee's received it; of a commerce payment, anybody but the escrow."""


def is_late(link: Link | None, at: datetime) -> bool:
    """Whether a transfer in a block of that time is late. Without a link a request does not expire."""
    return link is not None and at >= link.expires_at


def of_payment(payable: Payable, request: Request, payment: Payment) -> list[Label]:
    """The labels of a payment that counts; `request` is the state after it. One that is not owed is not announced."""
    found = [Label.LATE] if is_late(payable.link, payment.at) else []
    if not payment.is_announced:
        return [Label.DUPLICATE, *found]
    if request.status is not RequestStatus.PAID:
        return [Label.UNDER, *found]
    return [*of_paid(request), *found]


def of_paid(request: Request) -> list[Label]:
    """The labels of a request that is paid, whatever paid it last."""
    found = [Label.OVER] if request.paid > request.due else []
    return [*found, Label.UNDER] if request.due < request.amount else found


def of_unmatched(payable: Payable, request: Request, transfer: UnmatchedTransfer) -> list[Label]:
    """The labels of a transfer with the request's reference that does not count."""
    found = [Label(transfer.reason)]
    if transfer.payee != request.payee_in_logs and Label.WRONG_PAYEE not in found:
        found.append(Label.WRONG_PAYEE)
    at = transfer.paid_at or transfer.detected_at
    return [*found, Label.LATE] if is_late(payable.link, at) else found
