"""Models of registering, listing, switching and deleting webhooks."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints

from chalicelib.base.timestamps import iso
from chalicelib.http.fields import form
from chalicelib.http.schemas import Input, Output
from chalicelib.outbound.sender import MAX_URL_LENGTH
from chalicelib.webhooks.endpoints.records import Endpoint

_URL = r"^[hH][tT][tT][pP][sS]://(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z._-]+)(:[0-9]{1,5})?([/?][!-\"$-\[\]-~]*)?$"


class ClientIdChoice(Input):
    """The client id whose webhooks a session means. Ignored with other credentials, which name it themselves."""

    clientId: str | None = Field(
        None, description="With a session: one of the account's client ids; without it, the account as a whole"
    )


class CreateWebhook(ClientIdChoice):
    url: Annotated[str, StringConstraints(min_length=1), form(_URL, "webhook-url", maxLength=MAX_URL_LENGTH)] = Field(
        description="https, reachable from the internet"
    )


class WebhookCreated(Output):
    """The only response that has the signing secret."""

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
