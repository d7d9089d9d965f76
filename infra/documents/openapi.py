"""The OpenAPI 3.1 document, generated from the operations, the models that validate them, and their examples.

An operation brings its models (schemas.py); docs/operations has its description and an example, and descriptions.py
what is the same for all. Events are the models of event_models.py.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from chalicelib.accounts.changes.asking import WAITS
from chalicelib.accounts.changes.schemas import Waiting
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.errors import phrase_of
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.http.request import CHANGING
from chalicelib.platform.http.schemas import ErrorAnswer
from chalicelib.platform.http.view import Models, models_of
from infra.documents import descriptions, event_models
from infra.documents.operations import Texts, check_names, examples, texts_of

VERSION, REVISION = "0.13.0", "0.29.0"
"""That of the specification, and that of this service: the second rises with changes that break clients."""
Json = dict[str, Any]
_REFERENCE = "#/components/schemas/{model}"


class _Schemas(GenerateJsonSchema):
    """Without a title for every field, which would repeat its name, and without null as a default.

    A field of a response whose default is None is left out unless it is set (platform/http/schemas.py), so it is never
    null.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> Json:
        made = super().default_schema(schema)
        if made.get("default", ...) is not None:
            return made
        del made["default"]
        sent = [each for each in made.get("anyOf", ()) if each != {"type": "null"}]
        if self.mode == "validation" or not sent:
            return made
        others = {name: value for name, value in made.items() if name != "anyOf"}
        return {**others, **sent[0]} if len(sent) == 1 else {**others, "anyOf": sent}


def build(server_url: str, answers: Mapping[str, Any]) -> Json:
    """The document, whose components are in alphabetical order. `answers` are the responses of the examples, by the
    names of their operations. Raises LookupError, with what to do, if one is missing."""
    check_names(OPERATIONS)
    paths: dict[str, Json] = {}
    schemas: Json = {}
    for operation, api in list(OPERATIONS.items()):
        models = models_of(getattr(import_module(api), operation.name))
        if operation.name not in answers:
            raise LookupError(f"docs/openapi.json has no response of {operation.name}: run `make docs`")
        example = {**examples(api).get(operation.name, {}), "answer": answers[operation.name]}
        described = _operation(operation, texts_of(api, operation.name), example, models, schemas)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    webhooks = _webhooks(schemas)
    schemas[ErrorAnswer.__name__] = _schema_of(ErrorAnswer, "serialization", schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Payment Request Service",
            "version": VERSION,
            "x-revision": REVISION,
            "description": descriptions.DESCRIPTION,
        },
        "servers": [{"url": server_url}],
        "tags": [{"name": name, "description": text} for name, text in descriptions.TAGS.values()],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {_error_name(status): _error(status) for status in descriptions.ERRORS},
            "headers": descriptions.HEADERS,
            "securitySchemes": descriptions.SECURITY_SCHEMES,
        },
    }


def _operation(operation: Operation, texts: Texts, example: Json, models: Models, schemas: Json) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": texts.summary,
        "description": texts.description,
        "tags": [descriptions.tag_of(OPERATIONS[operation])],
        "security": [way for mode in operation.modes for way in descriptions.SECURITY[mode]],
        "parameters": [*_path_parameters(operation, example), *_query_parameters(models, example)],
        "responses": {str(operation.status): _success(operation, models, example, schemas)},
    }
    if operation.redirects:
        waiting = _success(operation, Models(None, False, False, None, Waiting), {}, schemas)
        described["responses"][str(WAITS)] = {**waiting, "description": descriptions.WAITS}
    if operation.takes_idempotency_key:
        described["parameters"].append(descriptions.IDEMPOTENCY_KEY)
    if models.body is not None:
        body = _schema(models.body, "validation", schemas)
        described["requestBody"] = {
            "required": not models.is_body_optional,
            "content": {"application/json": {"schema": body, **_example(example, "body")}},
        }
    for status in sorted({*texts.errors, *_pipeline_errors(operation)}):
        described["responses"][str(status)] = {"$ref": f"#/components/responses/{_error_name(status)}"}
    return described


def _example(example: Json, part: str) -> Json:
    return {"example": example[part]} if part in example else {}


def _pipeline_errors(operation: Operation) -> set[int]:
    """The error statuses for bad headers, credentials, limits, bodies and idempotency keys."""
    errors = {400}
    if operation.modes != (Mode.PUBLIC,):
        errors |= {401, 403}
    if Mode.SESSION in operation.modes:
        errors |= {409}
    if operation.signs_in:
        errors |= {403}
    if operation.rate is not None:
        errors |= {429}
    if operation.method in CHANGING:
        errors |= {409, 413, 415}
    if operation.takes_idempotency_key:
        errors |= {422}
    return errors


def _path_parameters(operation: Operation, example: Json) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": descriptions.PATH_PARAMETERS[name],
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
    return {**field, **sent[0]} if sent else field


def _success(operation: Operation, models: Models, example: Json, schemas: Json) -> Json:
    names = ["x-request-id"]
    if operation.rate is not None:
        names += ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
    if operation.takes_idempotency_key:
        names += ["Idempotent-Replayed"]
    schema = _schema(models.response, "serialization", schemas)
    return {
        "description": phrase_of(operation.status),
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {"application/json": {"schema": schema, **_example(example, "answer")}},
    }


def _error_name(status: int) -> str:
    return "".join(part.title() for part in re.findall("[A-Za-z]+", phrase_of(status)))


def _error(status: int) -> Json:
    """The response with an error status, the same for every operation that describes it."""
    meaning, message = descriptions.ERRORS[status]
    names = ["x-request-id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
    names += ["Retry-After"] if status in (429, 503) else []
    names += ["Idempotent-Replayed"] if status < 500 and status != 429 else []
    phrase = phrase_of(status)
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
    return {
        kind: {
            "post": {
                "operationId": f"on_{re.sub('[^a-z]', '_', kind)}",
                "summary": event.summary,
                "description": event_models.DELIVERY,
                "parameters": event_models.HEADERS,
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": _schema(event.model, "serialization", schemas),
                            "example": event_models.sample(kind),
                        }
                    },
                },
                "responses": {"2XX": {"description": "Delivered; any other status is a failed attempt"}},
            }
        }
        for kind, event in event_models.EVENTS.items()
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
    models = schema.pop("$defs", {})
    for each in (schema, *models.values()):
        if mode == "serialization" and each.get("additionalProperties") is False:
            del each["additionalProperties"]  # a later version may add fields, also to models that have no others
    schemas.update(models)
    return schema
