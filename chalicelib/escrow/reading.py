"""Reads a commerce payment for a caller."""

from chalicelib.access.callers import Owner
from chalicelib.base.errors import NotFound
from chalicelib.escrow import store
from chalicelib.requests.commerce.records import CommercePayment
from chalicelib.requests.permissions import sees
from chalicelib.services import Services


def load(services: Services, owner: Owner, request_id: str) -> CommercePayment:
    """The commerce payment of a request. Two reads.

    Raises NotFound if there is none, or if it is another account's or another client id's.
    """
    bill = store.bill(services.store, request_id)
    if bill is None or bill.commerce is None or not sees(owner.account_id, owner.client_id, bill.commerce):
        raise NotFound("Commerce payment not found")
    return bill.commerce
