"""Errors as response bodies. A room whose errors show more registers how, beside its response models."""

from functools import singledispatch
from http import HTTPStatus
from importlib import import_module
from typing import Any

from chalicelib.base.errors import ServiceError, ValidationFailed


@singledispatch
def details_of(error: ServiceError) -> dict[str, Any]:
    """What the body of an error shows beside statusCode, message and error; nothing unless its class is registered."""
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
    """`errors` beside the first problem's message, or all problems under `message` where the interface lists them."""
    if not error.listed:
        return {"errors": [{"field": ".".join(each.path), "message": each.message} for each in error.problems]}
    listed = [
        {"code": each.code, **dict(each.details), "path": list(each.path), "message": each.message}
        for each in error.problems
    ]
    return {"message": listed}
