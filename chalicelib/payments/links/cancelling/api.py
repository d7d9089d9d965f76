"""Views that cancel a link or a request."""

from chalicelib.payments.links.cancelling import flows
from chalicelib.payments.links.cancelling.schemas import LinkCancelledAnswer, RequestCancelledAnswer
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call


def cancel_secure_payment(call: Call[None, None]) -> LinkCancelledAnswer:
    payable = flows.cancel_link(call.services, call.path["token"], Viewer.of(call.caller), call.actor)
    return LinkCancelledAnswer.of(payable)


def cancel_request(call: Call[None, None]) -> RequestCancelledAnswer:
    viewer = Viewer.of(call.caller)
    return RequestCancelledAnswer.of(
        flows.cancel_request(call.services, call.path["request_id"], viewer, call.actor)
    )
