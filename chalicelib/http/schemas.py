"""What the models of all resources share."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from chalicelib.base.timestamps import iso


class Input(BaseModel):
    """A body or query. Unknown keys are ignored, as the interface's own service does."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True, defer_build=True)


def unsent() -> Any:
    """The default of a field that changes nothing when it is left out; a factory stays out of the document."""
    return None


class Output(BaseModel):
    """An answer. A field that is never set is left out; one that is set to None is sent as null."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ErrorAnswer(Output):
    """Every answer that is not a success, in its least form; some say more beside it, such as `errors` or `status`."""

    model_config = ConfigDict(extra="allow")

    statusCode: int
    message: str | list[dict[str, Any]]
    error: str


class HealthAnswer(Output):
    status: str


def iso_or_none(instant: datetime | None) -> str | None:
    return iso(instant) if instant is not None else None


def rule(message: str) -> PydanticCustomError:
    """A refusal whose text reaches the caller word for word."""
    return PydanticCustomError("rule", message)
