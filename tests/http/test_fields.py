"""Types of fields: whole numbers in every form of JSON, and rules about fields that need or exclude each other."""

from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field, TypeAdapter, ValidationError

from chalicelib.http.fields import WHOLE, together

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
