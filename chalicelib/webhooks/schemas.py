"""Models of the webhooks resource."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints

from chalicelib.base.timestamps import iso
from chalicelib.http.schemas import Input, Output
from chalicelib.webhooks.records import Endpoint


class ClientIdChoice(Input):
    """Whose webhooks a session means; credentials say so by themselves, and are not asked."""

    clientId: str | None = Field(
        None, description="With a session: one of the account's client ids; without it, the account as a whole"
    )


class CreateWebhook(ClientIdChoice):
    url: Annotated[str, StringConstraints(min_length=1)] = Field(
        description="https, reachable from the internet"
    )


class TestWebhook(ClientIdChoice):
    eventType: Annotated[str, StringConstraints(max_length=100)]


class WebhookCreated(Output):
    """The only time the signing secret is shown."""

    id: str
    secret: str


class WebhookAnswer(Output):
    id: str
    url: str
    isActive: bool
    createdAt: str

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        return cls(
            id=endpoint.webhook_id,
            url=endpoint.url,
            isActive=endpoint.is_active,
            createdAt=iso(endpoint.created_at),
        )


class WebhookDeleted(Output):
    id: str
    deleted: bool


class TestAnswer(Output):
    """To how many active webhooks the sample is on its way."""

    sent: int
    failed: int
