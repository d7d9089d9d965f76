"""Models of tests, deliveries and their attempts."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, StringConstraints

from chalicelib.platform.http.fields import Limit, form
from chalicelib.platform.http.schemas import Output, iso_or_none
from chalicelib.webhooks.deliveries.reading import MOST_REPEATED
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState
from chalicelib.webhooks.endpoints.schemas import ClientIdChoice
from chalicelib.webhooks.kinds import KINDS

Cursor = Annotated[str, StringConstraints(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]


class TestWebhook(ClientIdChoice):
    eventType: Annotated[str, form(enum=list(KINDS))] = Field(description="The kind of the sample")
    webhookId: str | None = Field(None, description="The only webhook that gets it; without it every active one does")


class TestAnswer(Output):
    """The sample is queued, not yet sent, for `queued` webhooks. `sent` is the same number, and `failed` is 0."""

    sent: int
    failed: int
    queued: int
    message: str


class DeliveriesQuery(ClientIdChoice):
    state: Literal["failed", "waiting"] | None = Field(
        None, description="Only those that failed, or that wait for a webhook which does not answer"
    )
    cursor: Cursor | None = Field(None, description="nextCursor of the page before")
    limit: Limit = Field(20, description="Deliveries on a page")


class AttemptAnswer(Output):
    """One request to the receiver. It has a status, or an error if there was no response."""

    at: str = Field(description="When it was made")
    status: int | None = Field(description="Of the receiver's response")
    error: str | None = Field(description="Why there was none")
    response: str = Field(
        description="The first 1,024 bytes of the response's body, as text; empty with a client id alone"
    )
    durationMs: int = Field(description="How long it took")

    @classmethod
    def of(cls, attempt: Attempt, shows_response: bool) -> Self:
        return cls.from_record(attempt, response=attempt.answer if shows_response else "")


class DeliveryAnswer(Output):
    id: str = Field(description="As in the header x-service-delivery")
    webhookId: str
    event: str
    state: str = Field(description="pending, waiting, delivered or failed")
    isTest: bool
    createdAt: str
    nextAttemptAt: str | None = Field(description="While it is pending: when its next attempt is due")
    attempts: list[AttemptAnswer] = Field(description="The newest eight, oldest first")
    body: dict[str, Any] | None = Field(
        description="What the webhook is sent; null with a client id alone, and if the person it is about was erased"
    )

    @classmethod
    def of(cls, delivery: Delivery, body: str | None, *, shows_responses: bool) -> Self:
        """Receivers may repeat what they were sent, which a client id alone must not learn of a confirmed webhook."""
        is_sending = delivery.state is DeliveryState.SENDING
        is_pending = delivery.state is DeliveryState.PENDING
        return cls.from_record(
            delivery,
            id=delivery.delivery_id,
            event=delivery.kind,
            state="pending" if is_sending else delivery.state.value,
            nextAttemptAt=iso_or_none(delivery.due_at if is_pending else None),
            attempts=[AttemptAnswer.of(each, shows_responses) for each in delivery.attempts or ()],
            body=json.loads(body) if body else None,
        )


class EventDeliveries(Output):
    """The deliveries to the webhooks that are still there: of the event, then of each of its variants."""

    deliveries: list[DeliveryAnswer]


class DeliveriesPage(Output):
    """Newest first. `nextCursor` is null on the last page. A page may have fewer deliveries than its limit."""

    deliveries: list[DeliveryAnswer]
    nextCursor: str | None


class RedeliverFailed(ClientIdChoice):
    since: AwareDatetime = Field(description="Deliveries of events from this time on, with its time zone")
    cursor: Cursor | None = Field(None, description="nextCursor of the call before")

    @property
    def items_written(self) -> int:
        return MOST_REPEATED


class RedeliverAnswer(Output):
    """How many deliveries are sent again. `nextCursor` is null if no failed one is left after them."""

    queued: int
    nextCursor: str | None
