"""Reads a multicall with the present state of its children, and selects those that are still to be paid."""

from collections.abc import Callable
from dataclasses import replace

from chalicelib.base.errors import Forbidden, NotFound
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.multicalls.children import check_none_blocked, evaluate_children, tokens_of_others
from chalicelib.payments.links.multicalls.rules import MulticallDetails, execution_kind, multicall_details
from chalicelib.payments.links.records import LinkStatus, PayableLink, PaymentType
from chalicelib.platform.services import Services


def read(services: Services, token: str, account_id: str) -> MulticallDetails:
    """A multicall of the account as it is now. One read, and those of `details`.

    Raises NotFound, and Forbidden if it belongs to another account.
    """
    payable = link_reading.load(services, token)
    if payable is None or payable.link.payment_type is not PaymentType.MULTICALL:
        raise NotFound("Multicall payout not found")
    if payable.link.account_id != account_id:
        raise Forbidden("Not authorized for this multicall payout")
    return details(services, payable)


def details(services: Services, payable: PayableLink) -> MulticallDetails:
    """A multicall with its children as they are now. Four keys per child, in batches of 100."""
    now, link = services.clock(), payable.link
    found = link_reading.load_many(services, link.child_tokens, payable)
    return multicall_details(payable, evaluate_children(link, found, tokens_of_others(link, found), now), now)


def payable_children(
    services: Services, payable: PayableLink, check: Callable[[PayableLink], None]
) -> tuple[PayableLink, ...]:
    """The children to pay, in order. The reads of `details`. `check` is called with the multicall and its requests.

    Raises what `check` raises, MulticallRefused with every child that cannot be paid, SetRefused if the children cannot
    be paid together.
    """
    found = details(services, payable)
    is_over = found.time_status in (LinkStatus.EXPIRED, LinkStatus.CANCELLED)
    status = found.time_status if is_over else LinkStatus.PENDING
    status = LinkStatus.COMPLETED if found.status is LinkStatus.COMPLETED else status
    check(replace(payable, requests=found.requests, link=replace(payable.link, status=status)))
    check_none_blocked(found.children, found.now)
    execution_kind(payable.link.execution_kind, found.requests)
    return tuple(child.payable for child in found.children if child.payable is not None)


def add_children(services: Services, stored: PayableLink) -> tuple[PayableLink, tuple[PayableLink, ...]]:
    """The link, and the links that it pays. A multicall gets its status and its requests from its children."""
    if stored.link.payment_type is not PaymentType.MULTICALL:
        return stored, (stored,)
    known = details(services, stored)
    status = known.status if known.status is LinkStatus.COMPLETED else stored.link.status
    parts = tuple(child.payable for child in known.children if child.payable is not None)
    return replace(stored, requests=known.requests, link=replace(stored.link, status=status)), parts
