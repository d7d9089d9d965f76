"""The view that finds payments."""

from dataclasses import replace

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.lists import MOST_QUERIES, PUBLIC_QUERIES
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.search.payments import flows
from chalicelib.payments.search.payments.export import table, with_mark
from chalicelib.payments.search.payments.records import Filters, Page
from chalicelib.payments.search.payments.schemas import MOST, MOST_ROWS, PaymentsPage, PaymentsQuery
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import Use, may
from chalicelib.platform.http.negotiation import choose_media_type
from chalicelib.platform.http.responses import HttpResponse, file_part
from chalicelib.platform.http.view import Call, next_url

_JSON, _CSV = "application/json", "text/csv"
_NO_REQUEST = "none"  # is not a request id, so that nothing is found


def find_payments(call: Call[None, PaymentsQuery]) -> PaymentsPage | HttpResponse:
    query, services = call.query, call.services
    filters = _filters(call)
    if choose_media_type(call.headers.get("accept", ""), (_JSON, _CSV)) == _CSV:
        return _part(call, filters)
    _check(query)
    if query.cursor is not None:
        page = flows.page_after(services, filters, query.cursor, query.limit)
    else:
        page = flows.page_at(services, filters, query.offset, query.limit)
    private = {name for name, each in page.requests.items() if may(call.caller, Use.READ_PRIVATE, each)}
    return PaymentsPage.of(page, query.limit, services.settings.payment_processor, private)


def _filters(call: Call[None, PaymentsQuery]) -> Filters:
    """The search of the caller. A payment reference is that of one request."""
    query, client_id = call.query, call.caller.finds_of(call.query.clientId)
    request_id = query.requestId.lower() if query.requestId else None
    if query.paymentReference is not None:
        found = request_store.request(call.services.store, query.paymentReference)
        request_id = found.request_id if found and request_id in (None, found.request_id) else _NO_REQUEST
    queries = PUBLIC_QUERIES if call.caller.mode is Mode.CLIENT_ID else MOST_QUERIES
    return replace(query.filters(call.caller.account_id, client_id, request_id), queries=queries)


def _check(query: PaymentsQuery) -> None:
    if not query.has_filter:
        raise ValidationFailed((Problem((), "At least one filter is needed, such as walletAddress or type"),))
    if query.limit > MOST:
        raise ValidationFailed((Problem(("limit",), f"must be at most {MOST}"),))
    if query.cursor is not None and query.offset:
        raise ValidationFailed((Problem(("offset",), "cannot be sent together with cursor"),))


def _part(call: Call[None, PaymentsQuery], filters: Filters) -> HttpResponse:
    """A part of the table, with the address of the next one. It is read by cursor from the start, and not counted."""
    query = call.query
    rows = query.limit if "limit" in query.model_fields_set else MOST_ROWS
    page: Page = flows.page_after(call.services, filters, query.cursor or "", rows, with_requests=False)
    text = with_mark(table(page.payments, with_head=not query.cursor), query.excel, query.cursor)
    return file_part(text, _CSV, "payments.csv", next_url(call, "/v2/payments", page.cursor))
