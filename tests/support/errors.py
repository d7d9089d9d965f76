"""Errors as the bodies that callers get."""

from typing import Any

from chalicelib.base.errors import ServiceError
from chalicelib.http.errors import error_body


def body_of(error: BaseException) -> dict[str, Any]:
    """The response body of an error."""
    assert isinstance(error, ServiceError)
    return error_body(error)
