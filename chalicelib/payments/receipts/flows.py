"""Reads what a receipt says."""

from chalicelib.base.frozen import frozen
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import Payable
from chalicelib.payments.receipts.rules import payments_of_receipt
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services


@frozen
class Paid:
    """A request, its payments that count by time, and what it is part of."""

    request: Request
    payments: tuple[Payment, ...]
    payable: Payable


def find_paid(services: Services, name: str, viewer: Viewer) -> Paid:
    """The request with this id or payment reference, of which something was paid.

    Reads as `load_request`, and one query of the payments. Raises NotFound and Conflict.
    """
    request, payable = load_request(services, name, viewer)
    payments = payments_of_receipt(request, payment_store.payments(services.store, request.request_id))
    return Paid(request, payments, payable)
