"""Makes response bodies of errors. Packages register the additional fields of their errors beside their models."""

from functools import singledispatch
from http import HTTPStatus
from importlib import import_module
from typing import Any

from chalicelib.base.errors import ChangedMeanwhile, ServiceError, ValidationFailed
from chalicelib.chains.nodes.safes.service import SafeServiceUnavailable
from chalicelib.platform.access.presence import ProofRequired
from chalicelib.platform.access.sessions.rules import SignedInAsAnother
from chalicelib.platform.emergency_stop.flows import PaymentsStopped
from chalicelib.platform.http.operation import ProblemForm

_PHRASES = {413: "Request Entity Too Large", 414: "Request-URI Too Long", 422: "Unprocessable Entity"}
"""Python 3.13 gave these statuses other phrases. Clients may compare what they were told before."""


def phrase_of(status: int) -> str:
    """The words of a status in bodies and documents, the same on every Python."""
    return _PHRASES.get(status) or HTTPStatus(status).phrase


@singledispatch
def details_of(error: ServiceError) -> dict[str, Any]:
    """The fields of an error body besides statusCode, message and error; none unless the class is registered."""
    return {}


@details_of.register
def _(error: PaymentsStopped) -> dict[str, Any]:
    return {"code": "payments_stopped"}


@details_of.register
def _(error: ChangedMeanwhile) -> dict[str, Any]:
    return {"code": "changed_meanwhile"}


@details_of.register
def _(error: SignedInAsAnother) -> dict[str, Any]:
    return {"code": "signed_in_as_another"}


@details_of.register
def _(error: SafeServiceUnavailable) -> dict[str, Any]:
    return {"code": "safe_service_unavailable"}


@details_of.register
def _(error: ProofRequired) -> dict[str, Any]:
    return {"code": error.code, "proofs": [each.value for each in error.proofs]}


def error_body(error: ServiceError, form: ProblemForm = ProblemForm.FIRST) -> dict[str, Any]:
    """The JSON body of an error: `{statusCode, message, error, ...details}` (supplement of the interface, part 7).

    `form` is how an operation shows the problems of a ValidationFailed.
    """
    if error.shown_by is not None:
        import_module(error.shown_by)
    return {
        "statusCode": error.status,
        "message": error.message,
        "error": phrase_of(error.status),
        **(_problems(error, form) if isinstance(error, ValidationFailed) else details_of(error)),
    }


def _problems(error: ValidationFailed, form: ProblemForm) -> dict[str, Any]:
    if form is ProblemForm.LIST:
        return {
            "message": [
                {"code": each.code, **dict(each.details), "path": list(each.path), "message": each.sentence}
                for each in error.problems
            ]
        }
    summary = {"message": "Validation failed"} if form is ProblemForm.SUMMARY else {}
    return {**summary, "errors": [{"field": each.field, "message": each.message} for each in error.problems]}
