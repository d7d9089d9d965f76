"""Errors as the bodies that callers get."""

from typing import Any

from chalicelib.base.errors import Problem, ServiceError
from chalicelib.platform.http.errors import error_body
from tests.support.client import Reply


def body_of(error: BaseException) -> dict[str, Any]:
    """The response body of an error."""
    assert isinstance(error, ServiceError)
    return error_body(error)


def first_problem(reply: Reply) -> str:
    """The first of the problems that a response lists, as a sentence; its message if it lists none."""
    for problem in reply.json.get("errors", ()):
        return Problem((problem["field"],) if problem["field"] else (), problem["message"]).sentence
    return str(reply.message)
