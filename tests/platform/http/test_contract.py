"""Every operation, held to the OpenAPI document: its example, and what each field means."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.platform.http.record_examples import shape
from tests.support.client import Api
from tests.support.examples import accepted_ways, documented, headers_for, is_barred, prepared
from tests.support.tenants import Tenant

DOCUMENT: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))
BY_NAME = {known.name: known for known in OPERATIONS}
every_operation = pytest.mark.parametrize("name", BY_NAME)


def described(known: Operation) -> dict[str, Any]:
    methods = DOCUMENT["paths"].get(known.path, {})
    assert known.method.lower() in methods, f"docs/{OPENAPI} lacks {known.method} {known.path}: run `make docs`"
    return methods[known.method.lower()]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name] if name else schema


def holds(schema: dict[str, Any], value: Any) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    clear_tables()


@every_operation
def test_an_operation_is_described_with_an_example_of_every_part(name: str) -> None:
    operation = described(BY_NAME[name])
    assert operation["summary"] and operation["description"].endswith("."), "describe it in docs/operations"
    for parameter in operation["parameters"]:
        assert parameter["description"], f"describe {parameter['name']} in schemas.py"
    for parameter in (each for each in operation["parameters"] if each["required"]):
        assert "example" in parameter, f"its example in docs/operations: {parameter['name']}"
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        assert "example" in content or not operation["requestBody"]["required"], "its example in docs/operations: body"
    content = operation["responses"][str(BY_NAME[name].status)]["content"]["application/json"]
    assert "example" in content, "its example in docs/operations: answer, which `make docs` writes"


@every_operation
@pytest.mark.usefixtures("node")
def test_the_example_is_answered_with_the_fields_that_the_document_shows(api: Api, name: str) -> None:
    known, tenant = BY_NAME[name], Tenant()
    way = next(way for way in accepted_ways(known) if not is_barred(known, way) and way.serves != ("public",))
    headers = headers_for(known, tenant, way)
    sent = prepared(known, tenant, way)
    operation, shown = described(known), documented(known)
    if sent.body is not None:
        holds(operation["requestBody"]["content"]["application/json"]["schema"], shown["body"])
        holds(operation["requestBody"]["content"]["application/json"]["schema"], sent.body)
    reply = sent.send(api, headers)
    assert reply.status == known.status, reply.body
    content = operation["responses"][str(known.status)]["content"]["application/json"]
    holds(content["schema"], reply.json)
    holds(content["schema"], content["example"])
    if not name.startswith("openapi"):
        assert shape(reply.json) == shape(content["example"]), "`make docs` writes the example anew"


def test_every_field_of_a_request_says_what_it_means() -> None:
    bare = [
        f"{name}.{field}"
        for name in inputs()
        for field, schema in DOCUMENT["components"]["schemas"][name].get("properties", {}).items()
        if not (schema.get("description") or alternatives_say(schema))
    ]
    assert bare == [], "describe them in schemas.py"


def inputs() -> set[str]:
    """The components that requests are made of."""
    found: set[str] = set()
    waiting = [json.dumps(described(known).get("requestBody", {})) for known in OPERATIONS]
    while waiting:
        text = waiting.pop()
        for name in set(DOCUMENT["components"]["schemas"]) - found:
            if f'"#/components/schemas/{name}"' in text:
                found.add(name)
                waiting.append(json.dumps(DOCUMENT["components"]["schemas"][name]))
    return found


def alternatives_say(schema: dict[str, Any]) -> str:
    """The description of the object that a field holds."""
    return "".join(resolved(each).get("description", "") for each in (schema, *schema.get("anyOf", ())))


def test_every_field_of_a_response_is_in_an_example_or_says_what_it_means() -> None:
    """One that no example shows, as it depends on the state of things, has to be described instead."""
    shown: set[tuple[str, str]] = set()
    for known in OPERATIONS:
        content = described(known)["responses"][str(known.status)]["content"]["application/json"]
        collect(content["schema"], content["example"], shown)
    bare = [
        f"{name}.{field}"
        for name in set(DOCUMENT["components"]["schemas"]) - inputs()
        for field, schema in DOCUMENT["components"]["schemas"][name].get("properties", {}).items()
        if (name, field) not in shown and not (schema.get("description") or alternatives_say(schema))
    ]
    assert bare == [], "describe them in schemas.py"


def collect(schema: dict[str, Any], value: Any, shown: set[tuple[str, str]]) -> None:
    """Adds the component and name of each field that the value has."""
    model = resolved(schema)
    for each in model.get("anyOf", model.get("oneOf", ())):
        if Draft202012Validator({**each, "components": DOCUMENT["components"]}).is_valid(value):
            collect(each, value, shown)
    if isinstance(value, list):
        for entry in value:
            collect(model.get("items", {}), entry, shown)
    if isinstance(value, dict):
        for field, content in value.items():
            if field in model.get("properties", {}):
                shown.add((schema.get("$ref", "").rpartition("/")[2], field))
                collect(model["properties"][field], content, shown)
            elif isinstance(model.get("additionalProperties"), dict):
                collect(model["additionalProperties"], content, shown)
