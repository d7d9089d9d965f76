"""The view of archived requests."""

from typing import Annotated, Self

from pydantic import Field

from chalicelib.payments.archive import flows
from chalicelib.payments.archive.flows import ArchivePage
from chalicelib.payments.search.requests.responses import request_answer
from chalicelib.payments.search.requests.rules import FoundRequest, Market, counting
from chalicelib.payments.search.requests.schemas import RequestAnswer
from chalicelib.platform.http.schemas import Input, Output
from chalicelib.platform.http.view import Call
from chalicelib.platform.settings import Settings


class ArchiveQuery(Input):
    month: Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")] = Field(
        description="Of the last payment of the requests, in UTC: 2025-10"
    )
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(None, description="`nextCursor` of the page before")


class ArchivePagination(Output):
    hasMore: bool = Field(description="Whether there are more")
    nextCursor: str | None = Field(description="Null on the last page")


class ArchivedRequestsPage(Output):
    """Requests as `GET /v2/request/{requestId}` answered when they were archived, in no particular order."""

    requests: list[RequestAnswer] = Field(description="The requests; of several with one id the last one is right")
    pagination: ArchivePagination = Field(description="How to read on")

    @classmethod
    def of(cls, page: ArchivePage, settings: Settings) -> Self:
        found = [
            FoundRequest(
                request,
                counting(tuple(each for each in archived.payments if each.request_id == request.request_id)),
                archived.payable,
                Market(),
            )
            for archived in page.found
            for request in archived.payable.requests
        ]
        answers = [request_answer(each, settings.payment_processor, True, settings.fiat_processor) for each in found]
        paging = ArchivePagination(hasMore=page.cursor is not None, nextCursor=page.cursor)
        return cls(requests=answers, pagination=paging)


def list_archived_requests(call: Call[None, ArchiveQuery]) -> ArchivedRequestsPage:
    query = call.query
    page = flows.page(call.services, call.caller.account_id, query.month, query.cursor)
    return ArchivedRequestsPage.of(page, call.services.settings)
