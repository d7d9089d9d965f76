"""The OpenAPI 3.0 form of the document: valid, the same operations, and no keyword or form that only 3.1 has."""

import json
from collections.abc import Iterator
from typing import Any

from openapi_spec_validator import OpenAPIV30SpecValidator

from chalicelib.platform.http.documents import OPENAPI, document
from infra.documents.openapi_3_0 import as_3_0
from tests.support.client import Api

NEWER: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))
OLDER = as_3_0(NEWER)


def schemas(part: Any) -> Iterator[dict[str, Any]]:
    """Every object of a part of a document."""
    if isinstance(part, dict):
        yield part
        for name, value in part.items():
            if name not in ("example", "enum"):
                yield from schemas(value)
    elif isinstance(part, list):
        for each in part:
            yield from schemas(each)


def test_it_is_valid_openapi_3_0() -> None:
    OpenAPIV30SpecValidator(OLDER).validate()


def test_it_has_the_operations_and_schemas_of_the_document_and_no_events() -> None:
    assert {path: set(methods) for path, methods in OLDER["paths"].items()} == {
        path: set(methods) for path, methods in NEWER["paths"].items()
    }
    assert OLDER["components"]["schemas"].keys() == NEWER["components"]["schemas"].keys()
    assert "webhooks" not in OLDER


def test_what_may_be_null_is_nullable_and_nothing_has_the_type_null() -> None:
    text = json.dumps(OLDER)
    assert '"type": "null"' not in text and '"const"' not in text
    found = OLDER["components"]["schemas"]["RequestAnswer"]["properties"]
    assert (found["txHash"]["type"], found["txHash"]["nullable"]) == ("string", True)
    assert found["conversionBreakdown"]["nullable"] and found["conversionBreakdown"]["allOf"][0]["$ref"].endswith("Breakdown")
    amount = OLDER["components"]["schemas"]["RecordIntent"]["properties"]["safePaymentDeadline"]
    assert (amount["minimum"], amount["exclusiveMinimum"], amount["nullable"]) == (0, True, True)


def test_the_document_itself_has_nothing_that_generators_stumble_over() -> None:
    """No field of the type null alone, no null as a default, no quotes in patterns, no length of an enum."""
    for each in schemas(NEWER):
        fields = each.get("properties", {})
        assert not [name for name, field in fields.items() if isinstance(field, dict) and field.get("type") == "null"], each
        assert each.get("default", "") is not None, each
        assert not set(str(each.get("pattern", ""))) & {'"', "'"}, each
        assert not ("enum" in each and each.keys() & {"maxLength", "minLength"}), each


def test_it_is_served(api: Api) -> None:
    reply = api.get("/openapi-3.0.json")
    assert (reply.status, reply.json["openapi"]) == (200, "3.0.3")
    assert reply.json["paths"] == OLDER["paths"]
