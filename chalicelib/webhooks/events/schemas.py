"""Models of reading the events of an account."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from chalicelib.platform.http.fields import Instant, Limit, parse_instant
from chalicelib.platform.http.schemas import Dated, Input, Output
from chalicelib.webhooks.records import Event

_Kind = Annotated[
    Annotated[str, Field(min_length=1, max_length=64)] | None, Field(description="Only events of this kind")
]
_RequestId = Annotated[
    Annotated[str, Field(min_length=1, max_length=255)] | None, Field(description="Only events about this request")
]
_SEQUENCE = (
    "Higher than that of every earlier event about the same thing (docs/webhooks.md, Order); null for events that were "
    "stored before they were numbered"
)
_EventsLimit = Annotated[Limit, Field(description="Events on a page")]


class EventsQuery(Dated):
    kind: _Kind = None
    requestId: _RequestId = None
    mispaid: Literal["true"] | None = Field(
        None,
        description="true: only payment.unexpected, unless it is reversed, and payment.confirmed with the label late "
        "or over",
    )
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(None, description="nextCursor of the page before")
    limit: _EventsLimit = 20


class EventAnswer(Output):
    id: str
    kind: str
    clientId: str | None = Field(description="That of the link or request; null if it has none")
    createdAt: str
    sequence: int | None = Field(description=_SEQUENCE)
    announced: bool = Field(description="Whether its deliveries are made")
    body: dict[str, Any] = Field(description="As webhooks receive it; empty if the person that it is about was erased")

    @classmethod
    def of(cls, event: Event, body: str | None) -> Self:
        return cls.from_record(event, id=event.event_id, announced=event.published, body=json.loads(body or "{}"))


class EventsPage(Output):
    """Newest first. `nextCursor` is null on the last page."""

    events: list[EventAnswer]
    nextCursor: str | None


class NextEventsQuery(Input):
    after: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="nextCursor of the call before, with the same kind and requestId"
    )
    fromDate: Instant | None = Field(None, description="UTC, included: where to begin without `after`")
    kind: _Kind = None
    requestId: _RequestId = None
    limit: _EventsLimit = 20

    @property
    def first(self) -> datetime | None:
        return parse_instant(self.fromDate)


class NextEvent(Output):
    id: str = Field(description="The same event has the same id whenever it is read")
    kind: str
    variants: list[str] = Field(description="Further kinds that webhooks receive it as, with the same body otherwise")
    clientId: str | None = Field(description="That of the link or request; null if it has none")
    createdAt: str
    sequence: int | None = Field(description=_SEQUENCE)
    settled: bool = Field(description="Whether no call after this one returns it again")
    body: dict[str, Any] = Field(description="As webhooks receive it; empty if the person that it is about was erased")

    @classmethod
    def of(cls, event: Event, body: str | None, is_settled: bool) -> Self:
        names = [each.kind for each in event.variants]
        known = {"id": event.event_id, "variants": names, "settled": is_settled}
        return cls.from_record(event, **known, body=json.loads(body or "{}"))


class NextEventsPage(Output):
    """Oldest first. Events that are not settled are returned again by calls with `nextCursor` until they are."""

    events: list[NextEvent]
    nextCursor: str = Field(description="Where the next call goes on. It is never null: events may follow at any time")
    hasMore: bool = Field(description="Whether settled events follow at once")
