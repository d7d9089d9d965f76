"""Views of the status of a request."""

from chalicelib.http.view import Call
from chalicelib.links.reading import Viewer
from chalicelib.search.requests import flows
from chalicelib.search.requests.schemas import RequestAnswer, request_answer


def read_request(call: Call[None, None]) -> RequestAnswer:
    viewer = Viewer.of(call.caller)
    found = flows.find(call.services, call.path["request_id"], viewer)
    return request_answer(found, call.services.settings.payment_processor, shows_customer=not viewer.is_public)


read_request_status = read_request
