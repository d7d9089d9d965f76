"""The base classes and helpers of all models."""

import re
from dataclasses import fields
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from chalicelib.base.addresses import evm_address, tron_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.timestamps import iso
from chalicelib.platform.http.fields import Instant, parse_instant

T = TypeVar("T")


class Input(BaseModel):
    """A body or query. Unknown keys are ignored (interface)."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, defer_build=True)

    @property
    def items_written(self) -> int:
        """How many links or deliveries the call writes, or addresses it asks a node for, at most: each is a unit of the
        caller's rate limit."""
        return 0

    def sent_fields(self) -> dict[str, Any]:
        """The fields that were sent, by their names in snake case."""
        return {_snake_case(name): getattr(self, name) for name in self.model_fields_set}

    def plain(self, kind: type[T], /, **others: Any) -> T:
        """An object of a frozen class with `others`. Its other fields have the values of the fields of the same name in
        camel case, as far as the body has such."""
        named = {_snake_case(name): name for name in type(self).model_fields}
        wanted = {each.name for each in fields(cast(Any, kind))} & named.keys() - others.keys()
        return kind(**{name: getattr(self, named[name]) for name in wanted}, **others)


def unsent() -> Any:
    """The default factory of an optional field. Unlike a default, a factory does not appear in the OpenAPI document."""
    return None


class Output(BaseModel):
    """A response. A field that is not set is left out; a field that is set to None is sent as null."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def from_record(cls, record: object, /, **others: Any) -> Self:
        """The response with `others`. Of its other fields those that are always sent, and that the record has under
        their name in snake case, have the record's values: times in ISO 8601, enumerations as text."""
        missing = (each for each in _always_sent(cls) if each[0] not in others and hasattr(record, each[1]))
        return cls(**{name: _show_field(getattr(record, attribute)) for name, attribute in missing}, **others)


@cache
def _always_sent(model: type[Output]) -> tuple[tuple[str, str], ...]:
    """The fields without a default, each with its name in snake case."""
    required = (name for name, field in model.model_fields.items() if field.is_required())
    return tuple((name, _snake_case(name)) for name in required)


@cache
def _snake_case(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


def _show_field(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    return value.value if isinstance(value, Enum) else value


class ErrorAnswer(Output):
    """Every error response has these fields; some have more, such as `errors` or `status`."""

    model_config = ConfigDict(extra="allow")

    statusCode: int = Field(description="The status of the response")
    message: str | list[dict[str, Any]] = Field(description="What to change, mostly one sentence")
    error: str = Field(description="The phrase of the status")


class HealthAnswer(Output):
    status: str
    payments: str | None = Field(
        default_factory=unsent,
        description="`stopped` while the operator has stopped payments, `unknown` without the database",
    )


def iso_or_none(instant: datetime | None) -> str | None:
    return iso(instant) if instant is not None else None


class Dated(Input):
    """A query with dates, both included."""

    fromDate: Instant | None = Field(None, description="UTC, included")
    toDate: Instant | None = Field(None, description="UTC, included")

    @model_validator(mode="after")
    def _dates(self) -> Self:
        first, last = self.first, self.last
        if first is not None and last is not None and last < first:
            raise PydanticCustomError("rule", _WRONG_ORDER, {"fields": ("toDate",), "verbatim": True})
        return self

    @property
    def first(self) -> datetime | None:
        return parse_instant(self.fromDate)

    @property
    def last(self) -> datetime | None:
        return parse_instant(self.toDate)


_WRONG_ORDER = "toDate must be after or equal to fromDate"


def address_text(text: str) -> str:
    """An address as its network writes it. Raises a validation error."""
    try:
        return evm_address(text) if text.startswith("0x") else tron_address(text)
    except BadRequest as error:
        raise rule(error.message) from None


def rule(message: str, *fields: str) -> PydanticCustomError:
    """A validation error with the message of a Problem. `fields` lead from the model that raises it to the field."""
    return PydanticCustomError("rule", message, {"fields": fields})
