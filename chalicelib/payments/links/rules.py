"""Whether a link can be read or paid now."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.payments.links.errors import LinkAwaitingChain, LinkBeingSigned, LinkClosed, LinkCompleted, LinkLocked
from chalicelib.payments.links.records import ASSEMBLY_TIME, Link, LinkStatus, PayableLink

if TYPE_CHECKING:
    from chalicelib.accounts.branding.records import PageBranding
    from chalicelib.chains.nodes.readings import Agreed

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


def check_expiry(expires_at: datetime, now: datetime) -> None:
    """Raises BadRequest unless it is in the future."""
    if expires_at <= now:
        raise BadRequest("expiresAt must be in the future")


def with_expiry(payable: PayableLink, expires_at: datetime, now: datetime) -> Link:
    """The link with another expiry. Raises BadRequest unless that is in the future, Conflict for a commerce payment,
    whose times the escrow knows, and for a link that has ended."""
    check_expiry(expires_at, now)
    if payable.commerce is not None:
        raise Conflict("The times of a commerce payment are part of its terms, which the escrow knows")
    status = status_at(payable.link, now)
    if payable.is_paid or status is not LinkStatus.PENDING:
        shown = LinkStatus.COMPLETED if payable.is_paid else status
        raise Conflict(f"Only the expiry of a pending link can be changed: this one is {shown.value}")
    return replace(payable.link, expires_at=expires_at, expiry_check_at=None)


def is_read_past(expires_at: datetime, read_until: "Agreed[datetime] | None") -> bool:
    """Whether a network was read past an expiry; `read_until` is the time of its newest block that was read."""
    return read_until is not None and read_until.value > expires_at


def with_next_check(link: Link, now: datetime) -> Link:
    """The link with the next check of its expiry: the longer the network is not read, the longer the delay."""
    delay = min(max((now - link.expires_at) / _CHECKS_PER_WAIT, MIN_EXPIRY_DELAY), MAX_EXPIRY_DELAY)
    return replace(link, expiry_check_at=now + delay)


def is_being_signed(payable: PayableLink, now: datetime) -> bool:
    """Whether somebody else is asked to sign the payment of a link that is pending: no claim hides how a link ended."""
    is_open = not payable.is_paid and status_at(payable.link, now) is LinkStatus.PENDING
    return is_open and payable.signing is not None and payable.signing.is_valid(now)


def is_payable(payable: PayableLink, now: datetime) -> bool:
    """Whether the link can be paid now: pending, not expired, not waiting for an announced transaction or a payment
    that the service makes, and nobody else is asked to sign its payment."""
    is_taken = payable.is_locked or is_being_signed(payable, now)
    return not payable.is_paid and not is_taken and status_at(payable.link, now) is LinkStatus.PENDING


def check_payable(payable: PayableLink, now: datetime, branding: "PageBranding | None" = None) -> None:
    """Raises LinkCompleted, LinkLocked, LinkBeingSigned, LinkAwaitingChain or LinkClosed unless the link can be paid
    now (supplement, error bodies 7.2).

    `branding` is passed to the error, for the payment page.
    """
    if payable.is_paid:
        raise LinkCompleted(payable, branding)
    check_unlocked(payable, branding)
    if payable.signing is not None and is_being_signed(payable, now):
        raise LinkBeingSigned(payable, payable.signing.ends_at, branding)
    status = status_at(payable.link, now)
    if status is LinkStatus.AWAITING_CHAIN:
        raise LinkAwaitingChain(payable, branding)
    if not is_payable(payable, now):
        raise LinkClosed(status, payable, branding)


def check_unlocked(payable: PayableLink, branding: "PageBranding | None" = None) -> None:
    """Raises LinkLocked while the link is unpaid and waiting for an announced transaction, or for a payment that the
    service makes."""
    if payable.is_locked:
        raise LinkLocked(payable, branding)


def is_abandoned(parent: Link, now: datetime) -> bool:
    """Whether a multicall has been assembling for so long that its process must have crashed."""
    return parent.status is LinkStatus.ASSEMBLING and now >= parent.created_at + ASSEMBLY_TIME
