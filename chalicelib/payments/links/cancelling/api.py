"""Views that cancel a link or a request."""

from typing import Literal

from pydantic import Field

from chalicelib.payments.links.cancelling import flows
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.schemas import Output
from chalicelib.platform.http.view import Call


class RequestCancelledAnswer(Output):
    requestId: str
    status: Literal["cancelled"]
    cancelledAt: str = Field(description="When it was cancelled first")


class LinkCancelledAnswer(Output):
    token: str
    status: Literal["cancelled"]
    cancelledAt: str = Field(description="When it was cancelled first")
    requestIds: list[str] = Field(description="Its requests that are cancelled: those that were not paid before")


def cancel_secure_payment(call: Call[None, None]) -> LinkCancelledAnswer:
    payable = flows.cancel_link(call.services, call.path["token"], Viewer.of(call.caller), call.actor)
    cancelled = [each.request_id for each in payable.requests if each.is_cancelled]
    return LinkCancelledAnswer.from_record(payable.link, requestIds=cancelled)


def cancel_request(call: Call[None, None]) -> RequestCancelledAnswer:
    viewer = Viewer.of(call.caller)
    request = flows.cancel_request(call.services, call.path["request_id"], viewer, call.actor)
    return RequestCancelledAnswer.from_record(request)
