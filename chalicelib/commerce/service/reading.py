"""Reads a commerce payment for a caller."""

from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.errors import NotFound
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.commerce.core.rules import CommerceStatus, status_of
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.ownership import check_changes, sees
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed


def load(services: Services, owner: Owner, request_id: str) -> CommercePayment:
    """The commerce payment of a request. Two reads.

    Raises NotFound if there is none, or if it is another account's or another client id's.
    """
    return _load(services, owner, request_id)[1]


def load_to_change(services: Services, owner: Owner, request_id: str) -> CommercePayment:
    """The commerce payment of a request, for one who changes it. Two reads.

    Raises NotFound if there is none that the caller sees, Forbidden if the caller sees it and may not change it.
    """
    link, payment = _load(services, owner, request_id)
    check_changes(owner, link)
    return payment


def _load(services: Services, owner: Owner, request_id: str) -> tuple[PayableLink, CommercePayment]:
    payable = link_store.payable_of(services.store, request_id)
    if not isinstance(payable, PayableLink) or payable.commerce is None or not sees(owner, payable.commerce):
        raise NotFound("Commerce payment not found")
    return payable, payable.commerce


def read_until(services: Services, payment: CommercePayment) -> "Agreed[datetime] | None":
    """Up to when everything of its network that is about a payment was read and recorded; None if that is not known.
    Two reads."""
    cursor = scan_store.cursor(services.store, payment.network)
    if cursor is None or scan_store.has_work(services.store, (payment.payable_id,)):
        return None
    return cursor.ends_until


def status_now(services: Services, payment: CommercePayment) -> CommerceStatus:
    """The status of a commerce payment. Two reads."""
    return status_of(payment, read_until(services, payment))
