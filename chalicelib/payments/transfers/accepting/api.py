"""The view that accepts what was paid of a request as full payment."""

from typing import Literal, Self

from pydantic import Field

from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.records import Request
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

    @classmethod
    def of(cls, request: Request) -> Self:
        return cls.from_record(
            request,
            requestAmount=amount_text(request.amount, request),
            acceptedAmount=amount_text(request.due, request),
        )


def accept_request(call: Call[None, None]) -> RequestAcceptedAnswer:
    viewer = Viewer.of(call.caller)
    return RequestAcceptedAnswer.of(flows.accept(call.services, call.path["request_id"], viewer, call.actor))
