"""Types of fields: whole numbers in every form of JSON and in queries, and rules about fields that need or exclude each other."""

from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from chalicelib.base.errors import ValidationFailed
from chalicelib.platform.http.fields import WHOLE, together
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.http.parsing import parse_query
from chalicelib.platform.http.request import HttpRequest
from tests.fakes.world import PAYEE
from tests.support.operations import models

NEEDED = {"network": "sepolia", "walletAddress": PAYEE, "currency": "USD"}
"""What some queries cannot do without; others take it, or pass over it."""
COUNT = TypeAdapter(Annotated[int, Field(strict=True, ge=1, le=9), WHOLE])


@pytest.mark.parametrize("text", ["1", "1.0", "1e0", "9"])
def test_a_whole_number_is_taken_however_it_is_written(text: str) -> None:
    number = COUNT.validate_json(text)
    assert isinstance(number, int) and 1 <= number <= 9


@pytest.mark.parametrize("text", ["1.5", "true", '"1"', "null", "0", "10", "10.0", "1e400"])
def test_nothing_else_is_a_whole_number(text: str) -> None:
    with pytest.raises(ValidationError):
        COUNT.validate_json(text)


def test_the_bounds_of_a_whole_number_are_in_its_schema() -> None:
    assert COUNT.json_schema() == {"type": "integer", "minimum": 1, "maximum": 9}


def numbers() -> list[tuple[type[BaseModel], str]]:
    """Every field of a query that is a whole number, with its model."""
    queries = {query for known in OPERATIONS if (query := models(known).query) is not None}
    return [
        (query, name)
        for query in sorted(queries, key=lambda each: each.__qualname__)
        for name, schema in query.model_json_schema()["properties"].items()
        if schema.get("type") in ("integer", "number") or any(each.get("type") == "integer" for each in schema.get("anyOf", ()))
    ]


@pytest.mark.parametrize("text", ["5_0", "+5", "5.0", " 5", "5 ", "5\n", "٥", "５", "²", "0x5", "5e0", "", "-", "--5", "9" * 5000 + "x"])
def test_a_number_in_a_query_is_written_in_plain_digits(text: str) -> None:
    known = {name for _, name in numbers()}
    assert known >= {"limit", "offset", "page"}
    for query, name in numbers():
        with pytest.raises(ValidationFailed, match=f"^{name} must be a whole number$"):
            parse_query(sent(name, text), query)


def test_a_number_in_a_query_has_bounds() -> None:
    for query, name in numbers():
        assert getattr(parse_query(sent(name, "5"), query), name) == 5
        for text, message in (("-1", f"{name} must be at least"), ("9" * 17, f"{name} must be at most")):
            with pytest.raises(ValidationFailed, match=message):
                parse_query(sent(name, text), query)


def sent(name: str, text: str) -> HttpRequest:
    query = {**{needed: [each] for needed, each in NEEDED.items()}, name: [text]}
    return HttpRequest("", "GET", "/", "/", {}, query, {}, frozenset(), b"", "")


@pytest.mark.parametrize(
    ("body", "is_valid"),
    [
        ({}, True),
        ({"label": None}, True),
        ({"label": "x", "url": "y"}, True),
        ({"label": "x"}, False),
        ({"label": "x", "url": None}, False),
        ({"id": "x"}, True),
        ({"id": "x", "url": None}, True),
        ({"id": None, "url": "y"}, True),
        ({"id": "x", "url": "y"}, False),
    ],
)
def test_fields_need_and_exclude_each_other_unless_they_are_null(body: dict[str, Any], is_valid: bool) -> None:
    schema = together({"label": ["url"]}, excludes={"id": ["url"]})
    assert Draft202012Validator(schema).is_valid(body) == is_valid
