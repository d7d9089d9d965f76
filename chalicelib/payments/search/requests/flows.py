"""Finds one request with its payments, and the rates for what is left of it."""

from chalicelib.chains.catalogue.tokens import dollar
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.rates.flows import current_or_none
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of, remaining
from chalicelib.payments.search.requests.rules import FoundRequest, Market, counting
from chalicelib.platform.services import Services


def find(services: Services, name: str, viewer: Viewer) -> FoundRequest:
    """The request with this id or payment reference, and its payments, of which at most 2,000 are kept.

    Reads as `load_request`, and one query of the payments. While something is
    left to be paid, up to two rates are asked for; without them the request is found all the same. Raises NotFound.
    """
    request, payable = load_request(services, name, viewer)
    payments = counting(payment_store.payments(services.store, request.request_id))
    return FoundRequest(request, payments, payable, _market(services, request))


def _market(services: Services, request: Request) -> Market:
    invoice, token = invoice_of(request), currency_of(request)
    if not remaining(request):
        return Market()
    by_invoice = current_or_none(services, invoice, token) if invoice != token else None
    return Market(by_invoice, by_invoice if invoice == dollar() else current_or_none(services, dollar(), token))
