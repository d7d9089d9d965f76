"""The OpenAPI 3.1 document, generated from the operations and the pydantic models that validate them."""

import json
import re
from functools import cache
from http import HTTPStatus
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from chalicelib.access.idempotency.rules import MAX_KEY_LENGTH
from chalicelib.access.modes import Mode
from chalicelib.access.sessions.rules import COOKIE
from chalicelib.http.operation import OPERATIONS, Operation
from chalicelib.http.request import CHANGING
from chalicelib.http.schemas import ErrorAnswer
from chalicelib.http.view import Models, models_of

VERSION = "0.13.0"
_REFERENCE = "#/components/schemas/{model}"

_SECURITY_SCHEMES = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "clientId": {
        "type": "apiKey",
        "in": "header",
        "name": "x-client-id",
        "description": "With an Origin header among the client id's allowed domains, unless it has none",
    },
    "orchestratorKey": {"type": "apiKey", "in": "header", "name": "x-orchestrator-key"},
    "sessionCookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
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

_TEXT = {"schema": {"type": "string"}}
_WHOLE_NUMBER = {"schema": {"type": "integer", "minimum": 0}}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request that is sent again under its key within 24 hours has no second effect",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
}


@cache
def document(server_url: str) -> str:
    """The document as JSON text. It is made once per process."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {}
    for operation, api in list(OPERATIONS.items()):
        models = models_of(getattr(import_module(api), operation.name))
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, models, schemas)
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "Payment Request Service", "version": VERSION},
            "servers": [{"url": server_url}],
            "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": _SECURITY_SCHEMES},
        }
    )


def _operation(operation: Operation, models: Models, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": [way for mode in operation.modes for way in _SECURITY[mode]],
        "parameters": [*_path_parameters(operation), *_query_parameters(models)],
        "responses": {str(operation.status): _content(operation, models.response, schemas, operation.status)},
    }
    if operation.method in CHANGING:
        described["parameters"].append(_IDEMPOTENCY_KEY)
    if models.body is not None:
        body = _schema(models.body, "validation", schemas)
        described["requestBody"] = {
            "required": not models.is_body_optional,
            "content": {"application/json": {"schema": body}},
        }
    for status in sorted({*operation.errors, *_edge_errors(operation)}):
        described["responses"][str(status)] = _content(operation, ErrorAnswer, schemas, status)
    return described


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


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", operation.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(models: Models) -> list[dict[str, Any]]:
    if models.query is None:
        return []
    schema = models.query.model_json_schema(ref_template=_REFERENCE)
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in schema["properties"].items()
    ]


def _content(operation: Operation, model: Any, schemas: dict[str, Any], status: int) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _headers(operation, status),
        "content": {"application/json": {"schema": _schema(model, "serialization", schemas)}},
    }


def _headers(operation: Operation, status: int) -> dict[str, Any]:
    headers: dict[str, Any] = {"x-request-id": _TEXT}
    if operation.rate is not None:
        headers |= dict.fromkeys(("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"), _WHOLE_NUMBER)
    if status in (429, 503):
        headers["Retry-After"] = _WHOLE_NUMBER
    if operation.method in CHANGING and status < 500 and status != 429:
        headers["Idempotent-Replayed"] = {"schema": {"const": "true"}}
    return headers


def _schema(model: Any, mode: JsonSchemaMode, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type. The models it refers to are added to `schemas`, the components of the document."""
    schema = TypeAdapter(model).json_schema(mode=mode, ref_template=_REFERENCE)
    schemas.update(schema.pop("$defs", {}))
    if "title" in schema and schema.get("type") == "object" and isinstance(model, type):
        schemas[model.__name__] = schema
        return {"$ref": _REFERENCE.format(model=model.__name__)}
    return schema
