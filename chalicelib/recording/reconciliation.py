"""Reconciliation: recomputes the totals of a link's requests from their payments, and compares them."""

from chalicelib.links import store as link_store
from chalicelib.links.records import SecurePayment
from chalicelib.recording.rules import differing_totals
from chalicelib.requests import store as request_store
from chalicelib.requests.records import Request
from chalicelib.services import Services

_READINGS = 3
"""How often a link is read that changes while its payments are read."""


def reconcile(services: Services, token: str) -> list[Request]:
    """The requests of a link whose stored totals are not those of their payments; each is logged as an error.

    Changes nothing: a difference is a fault of this service, which a person has to look at. One query for the link and
    one per request that was paid, which has a limited number of payments.
    """
    payment = link_store.current_link(services.store, token)
    for _ in range(_READINGS):
        if payment is None:
            return []
        paid = {each.request_id: request_store.payments(services.store, each.request_id) for each in _paid(payment)}
        before, payment = payment, link_store.current_link(services.store, token)
        if payment == before:
            break
    else:
        return []  # it changes all the time; it is compared again when later blocks are read again
    differing = [each for each in _paid(before) if differing_totals(each, paid[each.request_id])]
    for request in differing:
        services.log.error("totals differ", extra={"link": token, "request_id": request.request_id})
    return differing


def _paid(payment: SecurePayment) -> list[Request]:
    """The requests that have totals. Older code kept none before the first transfer that the recorder saw."""
    return [each for each in payment.requests if each.payment_count is not None and (each.paid or each.payment_count)]
