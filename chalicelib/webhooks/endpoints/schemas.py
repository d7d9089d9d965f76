"""Models of registering, listing, changing and deleting webhooks."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StringConstraints, model_validator

from chalicelib.base.destinations import PATTERN as DESTINATION
from chalicelib.base.destinations import ROLE_PATTERN as ROLE
from chalicelib.platform.http.fields import WHOLE, form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent
from chalicelib.platform.outbound.sender import MAX_URL_LENGTH
from chalicelib.webhooks.endpoints.records import ALL_EVENTS, Endpoint
from chalicelib.webhooks.endpoints.rules import CHOICES, MOST_OVERLAP_HOURS
from chalicelib.webhooks.signatures import standard_secret

Events = Annotated[
    list[Annotated[str, Field(json_schema_extra={"enum": list(CHOICES)})]], Field(min_length=1, max_length=50)
]

_MOST_SHOWN = 100  # characters of an unknown field
_HTTPS = r"[hH][tT][tT][pP][sS]://(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z._-]+)(:[0-9]{1,5})?([/?][!\x22$-\[\]-~]*)?"
_URL = rf"^({_HTTPS}|{DESTINATION})$"


class ClientIdChoice(Input):
    """The client id whose webhooks a session means. Ignored with other credentials, which name it themselves."""

    clientId: str | None = Field(
        None,
        description="With a session: one of the account's client ids. Without it, the account as a whole is meant; "
        "webhooks that exist are found whichever of the account's client ids they are for",
    )


class CreateWebhook(ClientIdChoice):
    url: Annotated[str, StringConstraints(min_length=1), form(_URL, "webhook-url", maxLength=MAX_URL_LENGTH)] = Field(
        description="https, reachable from the internet; or, with roleArn, the ARN of an SQS queue, an SNS topic or an "
        "EventBridge event bus in an AWS account of yours"
    )
    roleArn: Annotated[str, form(f"^{ROLE}$")] | None = Field(
        None,
        description="Of an ARN: the role, in the AWS account of the destination, that may send to it and trusts this "
        "service by the answer's trustPolicy",
    )
    events: Events | None = Field(
        default_factory=unsent,
        description="Kinds of events that it receives, prefixes such as payment.*, or * for all; null for all",
    )
    httpSignature: StrictBool = Field(
        default=False,
        description="Whether each attempt also has a signature of RFC 9421 (HTTP Message Signatures), by the Ed25519 "
        "key of the service that GET /.well-known/jwks.json publishes",
    )


class UpdateWebhook(Input):
    """What is to change. Without a body, or with no field, an active webhook is switched off, another one on.

    A body with no other fields than unknown ones is refused: it would switch the webhook although it asks for something
    else, such as `{"active": false}` of a webhook that is off.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"minProperties": 1},
            "then": {"anyOf": [{"required": [name]} for name in ("isActive", "events", "confirmed", "httpSignature")]},
        }
    )

    isActive: StrictBool = Field(default_factory=unsent, description="Whether it gets events")
    events: Events | None = Field(default_factory=unsent, description="As at its registration; null for all")
    confirmed: StrictBool = Field(
        default_factory=unsent,
        description="Whether a webhook that a client id alone registered gets personal data; with an API key or a "
        "session. Others always get it",
    )
    httpSignature: StrictBool = Field(default_factory=unsent, description="As at its registration")

    @model_validator(mode="before")
    @classmethod
    def _names_a_change(cls, sent: dict[str, Any]) -> dict[str, Any]:
        if sent and not sent.keys() & cls.model_fields.keys():
            wanted = "isActive, events, confirmed or httpSignature, or no field, which switches the webhook off or on"
            raise rule(f"is not known here: send {wanted}", min(sent)[:_MOST_SHOWN])
        return sent

    def apply_to(self, endpoint: Endpoint) -> tuple[bool, Sequence[str], bool]:
        """Whether the webhook is active, which events it receives, and whether it is confirmed, after the change."""
        sent = self.model_fields_set
        if not sent:
            return not endpoint.is_active, endpoint.events, endpoint.is_confirmed
        is_active = self.isActive if "isActive" in sent else endpoint.is_active
        events = (self.events or ALL_EVENTS) if "events" in sent else endpoint.events
        return is_active, events, self.confirmed if "confirmed" in sent else endpoint.is_confirmed


class RotateSecret(Input):
    overlapHours: Annotated[StrictInt, Field(ge=0, le=MOST_OVERLAP_HOURS), WHOLE] = Field(
        default=24, description="For how many hours the secret before holds beside the new one; 0 ends it now"
    )


class _Secret(Output):
    id: str
    secret: str
    standardSecret: str = Field(description="The same secret as libraries of Standard Webhooks take it")

    @classmethod
    def of(cls, endpoint: Endpoint, secret: str, **others: Any) -> Self:
        standard = standard_secret(secret)
        return cls.from_record(endpoint, id=endpoint.webhook_id, secret=secret, standardSecret=standard, **others)


class WebhookCreated(_Secret):
    """With the signing secret, which no other response has."""

    trustPolicy: dict[str, Any] = Field(
        default_factory=unsent, description="Of a destination in AWS: the trust policy that its role has to have"
    )


class SecretRotated(_Secret):
    """With the new signing secret, which no other response has."""

    previousUntil: str | None = Field(description="Until when the secret before holds as well; null if it has ended")


class WebhookAnswer(Output):
    id: str
    url: str
    isActive: bool
    events: list[str]
    clientId: str | None = Field(description="Whose events it receives; null for all of the account's")
    createdWith: Annotated[str, form(enum=["apiKey", "clientId", "session"])] | None = Field(
        description="What it was registered with; one of clientId, which anybody can send, gets no personal data "
        "until it is confirmed"
    )
    confirmed: bool = Field(description="Whether it gets personal data, which false empties in its events")
    httpSignature: bool = Field(description="Whether each attempt also has a signature of RFC 9421")
    createdAt: str
    roleArn: str = Field(default_factory=unsent, description="Of a destination in AWS: the role that sends to it")
    externalId: str = Field(
        default_factory=unsent, description="Of a destination in AWS: the external id under which its role is taken on"
    )

    @classmethod
    def of(cls, endpoint: Endpoint, **others: Any) -> Self:
        there = endpoint.destination
        role = {"roleArn": there.role_arn, "externalId": there.external_id} if there is not None else {}
        known = {"id": endpoint.webhook_id, "confirmed": endpoint.gets_personal_data, **role}
        return cls.from_record(endpoint, **known, **others)


class ListedWebhook(WebhookAnswer):
    failingSince: str | None = Field(
        description="Since when every attempt has failed, if for an hour or more (webhook.failing); null if not, if it "
        "is off, and of one that a client id alone registered"
    )


class WebhookDeleted(Output):
    id: str
    deleted: bool
