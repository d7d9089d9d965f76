"""Makes response bodies of errors. Packages register the additional fields of their errors beside their models."""

from functools import singledispatch
from http import HTTPStatus
from importlib import import_module
from typing import Any

from chalicelib.base.errors import ServiceError, ValidationFailed


@singledispatch
def details_of(error: ServiceError) -> dict[str, Any]:
    """The fields of an error body besides statusCode, message and error; none unless the class is registered."""
    return {}


def error_body(error: ServiceError) -> dict[str, Any]:
    """The JSON body of an error: `{statusCode, message, error, ...details}` (supplement of the interface, part 7)."""
    if error.shown_by is not None:
        import_module(error.shown_by)
    return {
        "statusCode": error.status,
        "message": error.message,
        "error": HTTPStatus(error.status).phrase,
        **details_of(error),
    }


@details_of.register
def _(error: ValidationFailed) -> dict[str, Any]:
    """`errors`; or all problems as `message`, for operations where the interface documents that."""
    if not error.listed:
        return {"errors": [{"field": each.field, "message": each.message} for each in error.problems]}
    listed = [
        {"code": each.code, **dict(each.details), "path": list(each.path), "message": each.sentence}
        for each in error.problems
    ]
    return {"message": listed}
