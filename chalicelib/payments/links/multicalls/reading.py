"""Reads a multicall with the present state of its children, and selects those that are still to be paid."""

from collections.abc import Callable
from dataclasses import replace

from chalicelib.base.errors import Forbidden, NotFound
from chalicelib.payments.links import reading as links
from chalicelib.payments.links.multicalls.children import check_none_blocked, claimed_by_others, evaluate_children
from chalicelib.payments.links.multicalls.rules import MulticallDetails, execution_kind, multicall_details
from chalicelib.payments.links.records import LinkStatus, PayableLink, PaymentType
from chalicelib.payments.links.rules import check_unlocked
from chalicelib.platform.services import Services


def read(services: Services, token: str, account_id: str) -> MulticallDetails:
    """A multicall of the account as it is now. One read, and those of `details`.

    Raises NotFound, Forbidden if it belongs to another account, Locked while a transaction is pending for it.
    """
    payment = links.load(services, token)
    if payment is None or payment.link.payment_type is not PaymentType.MULTICALL:
        raise NotFound("Multicall payout not found")
    if payment.link.account_id != account_id:
        raise Forbidden("Not authorized for this multicall payout")
    found = details(services, payment)
    check_unlocked(replace(payment, requests=found.requests))
    return found


def details(services: Services, payment: PayableLink) -> MulticallDetails:
    """A multicall with its children as they are now. Three keys per child, in batches of 100."""
    now, link = services.clock(), payment.link
    found = links.load_many(services, link.child_tokens, payment)
    return multicall_details(payment, evaluate_children(link, found, claimed_by_others(link, found), now), now)


def payable_children(
    services: Services, payment: PayableLink, check: Callable[[PayableLink], None]
) -> tuple[PayableLink, ...]:
    """The children to pay, in order. The reads of `details`. `check` is called with the multicall and its requests.

    Raises what `check` raises, MulticallRefused with every child that cannot be paid, SetRefused if the children cannot
    be paid together.
    """
    found = details(services, payment)
    is_over = found.time_status is LinkStatus.EXPIRED
    status = LinkStatus.EXPIRED if is_over else LinkStatus.PENDING
    status = LinkStatus.COMPLETED if found.status is LinkStatus.COMPLETED else status
    check(PayableLink(found.requests, replace(payment.link, status=status), payment.announced))
    check_none_blocked(found.children, found.now)
    execution_kind(payment.link.execution_kind, found.requests)
    return tuple(child.payment for child in found.children if child.payment is not None)
