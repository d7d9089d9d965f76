"""The view that accepts what was paid of a request as full payment."""

from typing import Literal

from pydantic import Field

from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.rules import amount_text
from chalicelib.payments.transfers.accepting import flows
from chalicelib.platform.http.schemas import Output
from chalicelib.platform.http.view import Call


class RequestAcceptedAnswer(Output):
    requestId: str
    status: Literal["paid"]
    acceptedAt: str = Field(description="When it was accepted")
    requestAmount: str = Field(description="What was asked for, in the invoice currency")
    acceptedAmount: str = Field(description="What was paid when it was accepted, in the invoice currency")


def accept_request(call: Call[None, None]) -> RequestAcceptedAnswer:
    request = flows.accept(call.services, call.path["request_id"], Viewer.of(call.caller), call.actor)
    asked, accepted = (amount_text(units, request) for units in (request.amount, request.due))
    return RequestAcceptedAnswer.from_record(request, requestAmount=asked, acceptedAmount=accepted)
