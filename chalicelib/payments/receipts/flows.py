"""Reads what a receipt says."""

from collections.abc import Iterable

from chalicelib.base.errors import Conflict
from chalicelib.base.frozen import frozen
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import Payable
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.search.requests.rules import counting
from chalicelib.platform.services import Services


@frozen
class Paid:
    """A request, its payments that count by time, and what it is part of."""

    request: Request
    payments: tuple[Payment, ...]
    payable: Payable


def find_paid(services: Services, name: str, viewer: Viewer) -> Paid:
    """The request with this id or payment reference, of which something was paid.

    Reads as `load_request`, and one query of the payments. Raises NotFound, and Conflict if nothing was paid.
    """
    request, payable = load_request(services, name, viewer)
    (found,) = find_all_paid(services, [(request, payable)])
    return found


def find_all_paid(services: Services, requests: Iterable[tuple[Request, Payable]]) -> tuple[Paid, ...]:
    """Those of some requests, each with what it is part of, of which something was paid. One query for each. Raises
    Conflict if there is none."""
    found = [
        Paid(request, counting(payment_store.payments(services.store, request.request_id)), payable)
        for request, payable in requests
    ]
    if not (paid := tuple(each for each in found if each.payments)):
        raise Conflict("Nothing was paid of it: ask for a receipt when a payment is confirmed")
    return paid
