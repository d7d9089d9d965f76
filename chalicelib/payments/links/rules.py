"""Whether a link can be read or paid now."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.payments.links.errors import LinkAwaitingChain, LinkClosed, LinkCompleted, LinkLocked
from chalicelib.payments.links.records import ASSEMBLY_TIME, Link, LinkStatus, PayableLink

if TYPE_CHECKING:
    from chalicelib.accounts.branding.records import PageBranding

LARGEST_TOTAL = 2**255
"""The largest sum of several amounts and their fees, in base units; leaves room for the batch contract's fee."""
MIN_EXPIRY_DELAY, MAX_EXPIRY_DELAY = timedelta(seconds=10), timedelta(minutes=10)
"""The delay until it is checked again whether a link has expired: an eighth of the time since, within these bounds."""
_CHECKS_PER_WAIT = 8


def status_at(link: Link, now: datetime) -> LinkStatus:
    """The link's status. From `expires_at` on a pending link is `awaiting_chain`, until the sweep marks it as expired.

    The sweep does so once the network was read past the expiry, so that a payment sent in time is never missed.
    """
    if link.status is LinkStatus.PENDING and now >= link.expires_at:
        return LinkStatus.AWAITING_CHAIN
    return link.status


def shown_status(status: LinkStatus) -> LinkStatus:
    """The status as responses show it in fields whose values clients know: `pending` while it is `awaiting_chain`."""
    return LinkStatus.PENDING if status is LinkStatus.AWAITING_CHAIN else status


def is_read_past(expires_at: datetime, read_until: datetime | None) -> bool:
    """Whether a network was read past an expiry; `read_until` is the time of its newest block that was read."""
    return read_until is not None and read_until > expires_at


def with_next_check(link: Link, now: datetime) -> Link:
    """The link with the next check of its expiry: the longer the network is not read, the longer the delay."""
    delay = min(max((now - link.expires_at) / _CHECKS_PER_WAIT, MIN_EXPIRY_DELAY), MAX_EXPIRY_DELAY)
    return replace(link, expiry_check_at=now + delay)


def is_payable(payment: PayableLink, now: datetime) -> bool:
    """Whether the link can be paid now: pending, not expired, and not waiting for an announced transaction."""
    return not payment.is_paid and not payment.is_locked and status_at(payment.link, now) is LinkStatus.PENDING


def check_payable(payment: PayableLink, now: datetime, branding: "PageBranding | None" = None) -> None:
    """Raises LinkCompleted, LinkLocked, LinkAwaitingChain or LinkClosed unless the link can be paid now (supplement,
    error bodies 7.2).

    `branding` is passed to the error, for the payment page.
    """
    if payment.is_paid:
        raise LinkCompleted(payment, branding)
    check_unlocked(payment, branding)
    status = status_at(payment.link, now)
    if status is LinkStatus.AWAITING_CHAIN:
        raise LinkAwaitingChain(payment, branding)
    if not is_payable(payment, now):
        raise LinkClosed(status, payment, branding)


def check_unlocked(payment: PayableLink, branding: "PageBranding | None" = None) -> None:
    """Raises LinkLocked while the link is unpaid and waiting for an announced transaction."""
    if payment.announced is not None and payment.is_locked:
        raise LinkLocked(payment, payment.announced, branding)


def is_abandoned(parent: Link, now: datetime) -> bool:
    """Whether a multicall has been assembling for so long that its process must have crashed."""
    return parent.status is LinkStatus.ASSEMBLING and now >= parent.created_at + ASSEMBLY_TIME
