"""The view that accepts what was paid of a request as full payment."""

from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.transfers.accepting import flows
from chalicelib.payments.transfers.accepting.schemas import RequestAcceptedAnswer
from chalicelib.platform.http.view import Call


def accept_request(call: Call[None, None]) -> RequestAcceptedAnswer:
    viewer = Viewer.of(call.caller)
    return RequestAcceptedAnswer.of(flows.accept(call.services, call.path["request_id"], viewer, call.actor))
