"""The OpenAPI 3.1 document, generated from the operations, the models that validate them, and their examples.

An operation brings its description (routes.py), its models (schemas.py) and an example (examples.json), which all stand
in its own package. Events are the models of chalicelib/webhooks/schemas.py.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from chalicelib.access.idempotency.rules import MAX_KEY_LENGTH
from chalicelib.access.modes import Mode
from chalicelib.access.sessions.rules import COOKIE
from chalicelib.http.operation import OPERATIONS, Operation
from chalicelib.http.request import CHANGING
from chalicelib.http.schemas import ErrorAnswer
from chalicelib.http.view import Models, models_of

VERSION = "0.14.0"
Json = dict[str, Any]
_REFERENCE = "#/components/schemas/{model}"
_EVENTS = "chalicelib.webhooks.schemas"
_DESCRIPTION = (
    "Payment links and payouts in tokens on EVM networks and Tron. Amounts are decimal texts, times are ISO 8601 in "
    "UTC, unknown fields of a body are ignored unless its schema says otherwise, and a response may get new fields."
)

_SECURITY_SCHEMES = {
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "For servers; a key can be limited to scopes and addresses",
    },
    "clientId": {
        "type": "apiKey",
        "in": "header",
        "name": "x-client-id",
        "description": "With an Origin header among the client id's allowed domains, unless it has none",
    },
    "orchestratorKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-orchestrator-key",
        "description": "Of a platform, mostly beside the client id that it acts for",
    },
    "sessionCookie": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "Set by signing in"},
    "sessionToken": {"type": "http", "scheme": "bearer", "description": "The value of the session cookie"},
}
_SECURITY: dict[Mode, list[dict[str, list[str]]]] = {
    Mode.PUBLIC: [{}],
    Mode.ORCHESTRATOR: [{"orchestratorKey": [], "clientId": []}],
    Mode.ORCHESTRATOR_KEY: [{"orchestratorKey": []}],
    Mode.API_KEY: [{"apiKey": []}],
    Mode.CLIENT_ID: [{"clientId": []}],
    Mode.SESSION: [{"sessionCookie": []}, {"sessionToken": []}],
}
"""The entries of a list are alternatives; the names in an entry are needed together."""

PATH_PARAMETERS = {
    "client_id": "A client id, as in x-client-id",
    "currency_id": "An `id` of GET /v2/currencies",
    "delivery_id": "The id of a delivery",
    "destination_id": "`<wallet>@eip155:<chain id>#<checksum>:<token address>`, the # sent as %23",
    "id": "The `id` of a client id's record",
    "key_id": "The `id` of an API key",
    "session_id": "The `id` of a session",
    "token": "The token of a link",
    "webhook_id": "The `id` of a webhook",
}
"""What stands at each place of a path."""

_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request that is sent again under its key within 24 hours has no second effect",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[ -~]*$"},
    "example": "order-1001",
}
_HEADERS: Json = {
    "x-request-id": {"description": "Names the request, also in the service's log", "schema": {"type": "string"}},
    "RateLimit-Limit": {"description": "Calls allowed in the window", "schema": {"type": "integer", "minimum": 0}},
    "RateLimit-Remaining": {"description": "Calls left in the window", "schema": {"type": "integer", "minimum": 0}},
    "RateLimit-Reset": {"description": "Seconds until it ends", "schema": {"type": "integer", "minimum": 0}},
    "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer", "minimum": 0}},
    "Idempotent-Replayed": {
        "description": "Sent if the response is the one stored for the Idempotency-Key",
        "schema": {"const": "true"},
    },
}
_ERRORS = {
    400: ("The request cannot be used; the message says what to change", "amount: Amount must be greater than 0"),
    401: ("The credential is missing, unknown, expired or revoked", "Unauthorized"),
    403: ("The credential may not do this, or the link cannot be paid", "This API key lacks the scope audit:read"),
    404: ("It does not exist, or it belongs to another account", "Secure payment not found"),
    409: ("It conflicts with the present state, or the request with this key is running", "Payment completed"),
    413: ("The body is larger than 256 kB", "The body is larger than 256 kB: send less at once"),
    415: ("The body is not JSON", "Send the body as JSON, with content-type: application/json"),
    422: (
        "The idempotency key was used with another body",
        "This Idempotency-Key was used with another body: use a new key for a new request",
    ),
    423: ("A transaction that pays the link is pending", "Payment in progress"),
    429: ("A rate limit is exceeded", "Too many requests"),
    502: ("The Tron node did not confirm that it received the transaction", "The Tron node did not answer"),
    503: ("A node or another service did not answer", "The node of sepolia did not answer: try again"),
}
"""What an error status means, and a message with it."""


class _Schemas(GenerateJsonSchema):
    """Without a title for every field, which would repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def document(server_url: str) -> str:
    """The document as JSON text. It is made once per process."""
    return json.dumps(build(server_url), ensure_ascii=False)


def build(server_url: str) -> Json:
    """The document, whose components are in alphabetical order."""
    paths: dict[str, Json] = {}
    schemas: Json = {}
    for operation, api in list(OPERATIONS.items()):
        models = models_of(getattr(import_module(api), operation.name))
        example = examples_of(api).get(operation.name, {})
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(
            operation, api.split(".")[1], models, example, schemas
        )
    webhooks = _webhooks(schemas)
    schemas[ErrorAnswer.__name__] = _schema_of(ErrorAnswer, "serialization", schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Payment Request Service", "version": VERSION, "description": _DESCRIPTION},
        "servers": [{"url": server_url}],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {_error_name(status): _error(status) for status in _ERRORS},
            "headers": _HEADERS,
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def examples_of(api: str) -> Mapping[str, Json]:
    """The examples of a package by the operation's name: `path`, `query`, `body` and `answer`."""
    file = examples_file(api)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def examples_file(api: str) -> Path:
    """The file with the examples of the package of a module `api`."""
    origin = import_module(api).__file__
    assert origin is not None
    return Path(origin).with_name("examples.json")


def _operation(operation: Operation, tag: str, models: Models, example: Json, schemas: Json) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.description,
        "tags": [tag],
        "security": [way for mode in operation.modes for way in _SECURITY[mode]],
        "parameters": [*_path_parameters(operation, example), *_query_parameters(models, example)],
        "responses": {str(operation.status): _success(operation, models, example, schemas)},
    }
    if operation.method in CHANGING:
        described["parameters"].append(_IDEMPOTENCY_KEY)
    if models.body is not None:
        body = _schema(models.body, "validation", schemas)
        described["requestBody"] = {
            "required": not models.is_body_optional,
            "content": {"application/json": {"schema": body, **_example(example, "body")}},
        }
    for status in sorted({*operation.errors, *_edge_errors(operation)}):
        described["responses"][str(status)] = {"$ref": f"#/components/responses/{_error_name(status)}"}
    return described


def _example(example: Json, part: str) -> Json:
    return {"example": example[part]} if part in example else {}


def _edge_errors(operation: Operation) -> set[int]:
    """The error statuses for bad headers, credentials, limits, bodies and idempotency keys."""
    errors = {400}
    if operation.modes != (Mode.PUBLIC,):
        errors |= {401, 403}
    if operation.signs_in:
        errors |= {403}
    if operation.rate is not None:
        errors |= {429}
    if operation.method in CHANGING:
        errors |= {409, 413, 415, 422}
    return errors


def _path_parameters(operation: Operation, example: Json) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATH_PARAMETERS[name],
            "schema": {"type": "string", "minLength": 1},
            **_example(example.get("path", {}), name),
        }
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]


def _query_parameters(models: Models, example: Json) -> list[Json]:
    if models.query is None:
        return []
    schema = models.query.model_json_schema(ref_template=_REFERENCE, schema_generator=_Schemas)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", []),
            "description": field.pop("description", ""),
            "schema": _of_text(field),
            **_example(example.get("query", {}), name),
        }
        for name, field in schema["properties"].items()
    ]


def _of_text(field: Json) -> Json:
    """The schema of a query parameter: it is left out or a text, so it cannot be null."""
    sent = [each for each in field.pop("anyOf", ()) if each != {"type": "null"}]
    if field.get("default", ...) is None:
        del field["default"]
    return {**field, **sent[0]} if sent else field


def _success(operation: Operation, models: Models, example: Json, schemas: Json) -> Json:
    names = ["x-request-id"]
    if operation.rate is not None:
        names += ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
    if operation.method in CHANGING:
        names += ["Idempotent-Replayed"]
    schema = _schema(models.response, "serialization", schemas)
    return {
        "description": HTTPStatus(operation.status).phrase,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {"application/json": {"schema": schema, **_example(example, "answer")}},
    }


def _error_name(status: int) -> str:
    return "".join(part.title() for part in re.findall("[A-Za-z]+", HTTPStatus(status).phrase))


def _error(status: int) -> Json:
    """The response with an error status, the same for every operation that describes it."""
    meaning, message = _ERRORS[status]
    names = ["x-request-id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
    names += ["Retry-After"] if status in (429, 503) else []
    names += ["Idempotent-Replayed"] if status < 500 and status != 429 else []
    phrase = HTTPStatus(status).phrase
    return {
        "description": meaning,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {
            "application/json": {
                "schema": {"$ref": _REFERENCE.format(model=ErrorAnswer.__name__)},
                "example": {"statusCode": status, "message": message, "error": phrase},
            }
        },
    }


def _webhooks(schemas: Json) -> Json:
    """The events, by kind, as requests that the service sends."""
    events = import_module(_EVENTS)
    return {
        kind: {
            "post": {
                "operationId": f"on_{re.sub('[^a-z]', '_', kind)}",
                "summary": event.summary,
                "description": events.DELIVERY,
                "parameters": events.HEADERS,
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": _schema(event.model, "serialization", schemas),
                            "example": events.sample(kind),
                        }
                    },
                },
                "responses": {"2XX": {"description": "Delivered; any other status is a failed attempt"}},
            }
        }
        for kind, event in events.EVENTS.items()
    }


def _schema(model: Any, mode: JsonSchemaMode, schemas: Json) -> Json:
    """The schema of a type. The models it refers to are added to `schemas`, the components of the document."""
    schema = _schema_of(model, mode, schemas)
    if "title" in schema and schema.get("type") == "object" and isinstance(model, type):
        schemas[model.__name__] = schema
        return {"$ref": _REFERENCE.format(model=model.__name__)}
    return schema


def _schema_of(model: Any, mode: JsonSchemaMode, schemas: Json) -> Json:
    schema = TypeAdapter(model).json_schema(mode=mode, ref_template=_REFERENCE, schema_generator=_Schemas)
    schemas.update(schema.pop("$defs", {}))
    return schema
