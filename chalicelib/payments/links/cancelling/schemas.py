"""Responses about links and requests that were cancelled."""

from typing import Literal, Self

from pydantic import Field

from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.records import Request
from chalicelib.platform.http.schemas import Output


class RequestCancelledAnswer(Output):
    requestId: str
    status: Literal["cancelled"]
    cancelledAt: str = Field(description="When it was cancelled first")

    @classmethod
    def of(cls, request: Request) -> Self:
        return cls.from_record(request)


class LinkCancelledAnswer(Output):
    token: str
    status: Literal["cancelled"]
    cancelledAt: str = Field(description="When it was cancelled first")
    requestIds: list[str] = Field(description="Its requests that are cancelled: those that were not paid before")

    @classmethod
    def of(cls, payable: PayableLink) -> Self:
        cancelled = [each.request_id for each in payable.requests if each.is_cancelled]
        return cls.from_record(payable.link, requestIds=cancelled)
