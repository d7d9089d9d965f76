"""Models of the events that webhooks receive, for the `webhooks` section of the OpenAPI document.

They are made from the tables of chalicelib/webhooks/kinds.py and fields.py; tests hold each body to them. Bodies may
get new fields at any time, so the models allow fields that they do not name.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model
from pydantic import Field as ModelField

from chalicelib.base.frozen import frozen
from chalicelib.platform.http.schemas import unsent
from chalicelib.webhooks.fields import ALWAYS, CLIENT_ID, EVENT, ORIGIN, Field
from chalicelib.webhooks.kinds import BY_NAME, Kind
from chalicelib.webhooks.rules import EventContext
from chalicelib.webhooks.samples import sample_event

DELIVERY = (
    "The body is signed: `x-service-signature` is the lower-case hex HMAC-SHA256 of its bytes, keyed with the "
    "webhook's secret. Respond with a 2xx status within five seconds; a delivery has four attempts. Every header is "
    "also sent as `x-request-network-...`, or as the deployment's HEADER_BRANDS say."
)

_PERSONAL = "empty for an unconfirmed webhook"


def _header(name: str, description: str, example: str, schema: dict[str, Any], required: bool = True) -> dict[str, Any]:
    where = {"name": name, "in": "header", "required": required, "description": description}
    return {**where, "schema": {"type": "string", **schema}, "example": example}


HEADERS = [
    _header("x-service-signature", "HMAC-SHA256 of the raw body", "5d1c" * 16, {"pattern": "^[0-9a-f]{64}$"}),
    _header("x-service-delivery", "The same for each attempt", "01JZ4PC7EXAMPLEDE11VERY001", {"minLength": 1}),
    _header("x-service-event-id", "Of the event, the same at every webhook", "01JZ4PC7EXAMPLEEVENT", {"minLength": 1}),
    _header("x-service-retry-count", "0 for the first attempt", "0", {"pattern": "^[0-3]$"}),
    _header("x-service-test", "Sent with samples, and in test mode", "true", {"const": "true"}, required=False),
    _header(
        *("x-service-signature-next", "By the new secret, while a replaced one holds", "7e02" * 16),
        {"pattern": "^[0-9a-f]{64}$"},
        required=False,
    ),
    _header(
        *("webhook-id", "As `x-service-delivery`; for libraries of Standard Webhooks", "01JZ4PC7EXAMPLEDE11VERY001"),
        {"minLength": 1},
    ),
    _header("webhook-timestamp", "The time of the attempt, in seconds", "1782864000", {"pattern": "^[0-9]+$"}),
    _header(
        "webhook-signature",
        "`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and raw body, divided by dots; with two secrets two "
        "entries, divided by a space",
        "v1," + base64.b64encode(bytes.fromhex("5d1c" * 16)).decode(),
        {"pattern": "^v1,[0-9A-Za-z+/]{43}=( v1,[0-9A-Za-z+/]{43}=)*$"},
    ),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)


@frozen
class EventKind:
    """One kind of event in the document."""

    summary: str
    model: type[BaseModel]


_TYPES: dict[str, type] = {"boolean": bool, "number": int}
"""Those of fields that are neither text nor made of parts."""


def _annotation(field: Field) -> Any:
    kind = field.type.removesuffix(" or null")
    annotation: Any = Literal[field.values] if field.values else _TYPES.get(kind, str)
    if kind in ("object", "list of objects"):
        annotation = _model(field.model, field.meaning, field.parts) if field.parts else dict[str, Any]
    if kind.startswith("list of"):
        annotation = list[annotation]
    return annotation | None if kind != field.type else annotation


def _describe_field(field: Field) -> tuple[Any, Any]:
    when = "" if field.present == ALWAYS else f"; only {field.present}"
    description = field.meaning + when + (f"; {_PERSONAL}" if field.is_personal else "")
    if field.is_required:
        return _annotation(field), ModelField(description=description)
    return _annotation(field), ModelField(default_factory=unsent, description=description)


def _model(name: str, about: str, fields: Iterable[Field]) -> type[BaseModel]:
    described: dict[str, Any] = {each.name: _describe_field(each) for each in fields}
    return create_model(name, __base__=_Body, __doc__=about, **described)


def _payload(name: str, kind: Kind) -> type[BaseModel]:
    """The model of a kind of event, which its variants share, but for those that name the client id."""
    of_client = name.endswith(".client_id")
    model = f"Client{kind.model}" if of_client else kind.model
    if model not in _PAYLOADS:
        same = (each for each in BY_NAME if BY_NAME[each].model == kind.model)
        names = tuple(each for each in same if each.endswith(".client_id") is of_client)
        fields = (
            replace(each, values=names)
            if each is EVENT
            else replace(each, present=ALWAYS)
            if of_client and each in (CLIENT_ID, ORIGIN)
            else each
            for each in kind.fields
        )
        _PAYLOADS[model] = _model(model, kind.about, fields)
    return _PAYLOADS[model]


_PAYLOADS: dict[str, type[BaseModel]] = {}
EVENTS = {name: EventKind(kind.summary, _payload(name, kind)) for name, kind in BY_NAME.items()}
"""Every kind of event. Variants arrive beside the kind that begins their name, with the same facts."""


def sample(kind: str) -> Any:
    """The body that POST /v1/webhook/test sends, at a fixed time and with an invented explorer."""
    context = EventContext(datetime(2026, 3, 15, 10, tzinfo=UTC), bytes, "https://explorer.example", "request-network")
    return json.loads(sample_event(kind, "", None, context).body)
