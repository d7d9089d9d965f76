"""Links in states that time or a chain causes, written directly, as the flows would write them."""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import LinkStatus, PaymentType
from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.storage.store import Add, Write
from tests.support.running import running

TX_HASH = "0x" + "ab" * 32


def pass_expiry(token: str) -> None:
    """Makes the link's time end; its network was not read that far, so that payments may still be found."""
    payment = link_reading.load(running(), token)
    assert payment is not None
    past = running().clock() - timedelta(milliseconds=1)
    running().store.write(replace(payment.link, expires_at=past))


def expire(token: str) -> None:
    """Makes the link's time end, and marks the link as the sweep does; the sweep marks no multicall."""
    pass_expiry(token)
    payment = link_reading.load(running(), token)
    assert payment is not None
    if payment.link.status is LinkStatus.PENDING and payment.link.payment_type is not PaymentType.MULTICALL:
        running().store.write(replace(payment.link, status=LinkStatus.EXPIRED))


def complete(token: str) -> None:
    """Records the whole amount as paid."""
    payment = link_reading.load(running(), token)
    assert payment is not None
    request = payment.requests[0]
    paid = replace(request, paid=request.amount, status=RequestStatus.PAID, tx_hash=TX_HASH)
    running().store.write(replace(payment.link, status=LinkStatus.COMPLETED), *counted(request, paid))


def pay_part(token: str, amount: int) -> None:
    """Records `amount`, in base units, as paid."""
    payment = link_reading.load(running(), token)
    assert payment is not None
    request = payment.requests[0]
    part = replace(request, paid=BaseUnits(amount), status=RequestStatus.PARTIALLY_PAID)
    running().store.write(*counted(request, part))


def counted(before: Request, after: Request) -> list[Write]:
    """A changed request with what that adds to the daily counts, as the recorder writes it."""
    marked = request_counts.mark_request(after)
    return [marked, *(Add(*each) for each in request_counts.amounts([before], [marked]))]
