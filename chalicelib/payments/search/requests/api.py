"""Views of the list of requests, and of the status of one."""

from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.search.requests import flows, listing
from chalicelib.payments.search.requests.list_schemas import RequestsPage, RequestsQuery
from chalicelib.payments.search.requests.responses import request_answer
from chalicelib.payments.search.requests.schemas import RequestAnswer
from chalicelib.platform.access.ownership import Use, finds_links, may
from chalicelib.platform.http.view import Call


def read_request(call: Call[None, None]) -> RequestAnswer:
    viewer = Viewer.of(call.caller)
    found = flows.find(call.services, call.path["request_id"], viewer)
    settings, shows_private = call.services.settings, may(viewer, Use.READ_PRIVATE, found.request)
    return request_answer(found, settings.payment_processor, shows_private, settings.fiat_processor)


def list_requests(call: Call[None, RequestsQuery]) -> RequestsPage:
    query, caller = call.query, call.caller
    wanted = query.filters(caller.account_id, caller.finds_of(query.clientId), finds_links(caller))
    return RequestsPage.of(listing.page(call.services, wanted, query.cursor, query.offset, query.limit), query.limit)


read_request_status = read_request
