"""Reads what a receipt says."""

from collections.abc import Sequence

from chalicelib.base.errors import Conflict
from chalicelib.base.frozen import frozen
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import Payable
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.search.requests.rules import counting
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.services import Services


@frozen
class Paid:
    """A request, its payments that count by time, what it is part of, and its account, unless that is gone."""

    request: Request
    payments: tuple[Payment, ...]
    payable: Payable
    account: Account | None


def find_paid(services: Services, name: str, viewer: Viewer) -> Paid:
    """The request with this id or payment reference, of which something was paid.

    Reads as `load_request`, one query of the payments, and one read of the account. Raises NotFound, and Conflict if
    nothing was paid.
    """
    (found,) = find_all_paid(services, [load_request(services, name, viewer)])
    return found


def find_all_paid(services: Services, requests: Sequence[tuple[Request, Payable]]) -> tuple[Paid, ...]:
    """Those of some requests of one account, each with what it is part of, of which something was paid.

    One query for each, and one read of the account. Raises Conflict if there is none.
    """
    read = [(*each, counting(payment_store.payments(services.store, each[0].request_id))) for each in requests]
    paid = [(request, payments, payable) for request, payable, payments in read if payments]
    if not paid:
        raise Conflict("Nothing was paid of it: ask for a receipt when a payment is confirmed")
    account = credential_store.account(services.real.store, paid[0][0].account_id)
    return tuple(Paid(*each, account) for each in paid)
