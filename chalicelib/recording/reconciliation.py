"""Reconciliation: recomputes the totals of a bill's requests from their payments, and compares them."""

from chalicelib.links import store as link_store
from chalicelib.links.records import Bill
from chalicelib.recording.rules import differing_totals
from chalicelib.requests.payments import store as payment_store
from chalicelib.requests.records import Request
from chalicelib.services import Services

_READINGS = 3
"""How often a bill is read that changes while its payments are read."""


def reconcile(services: Services, bill_id: str) -> list[Request]:
    """The requests of a bill whose stored totals are not those of their payments; each is logged as an error.

    Changes nothing: a difference is a fault of this service, which a person has to look at. One query for the bill and
    one per request that was paid, which has a limited number of payments.
    """
    bill = link_store.bill(services.store, bill_id)
    for _ in range(_READINGS):
        if bill is None:
            return []
        paid = {each.request_id: payment_store.payments(services.store, each.request_id) for each in _paid(bill)}
        before, bill = bill, link_store.bill(services.store, bill_id)
        if bill == before:
            break
    else:
        return []  # it changes all the time; it is compared again when later blocks are read again
    differing = [each for each in _paid(before) if differing_totals(each, paid[each.request_id])]
    for request in differing:
        services.log.error("totals differ", extra={"bill": bill_id, "request_id": request.request_id})
    return differing


def _paid(bill: Bill) -> list[Request]:
    """The requests that have totals. Older code kept none before the first transfer that the recorder saw."""
    return [each for each in bill.requests if each.payment_count is not None and (each.paid or each.payment_count)]
