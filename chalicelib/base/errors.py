"""Every error the service answers with, in one tree; `http/` alone turns them into HTTP.

ServiceError                      status, message, and what else the body shows
├── BadRequest              400   the caller's input cannot be used; the message says what to change
│   ├── ValidationFailed    400   several fields at once: a list of problems
│   └── MulticallRefused    400   payouts that cannot be paid together: a list of failures
├── Unauthorized            401   no credential, or one that is not known
├── Forbidden               403   a known credential that may not do this, or a link that cannot be paid
│   └── ForeignOrigin       403   a page that the client id does not admit
├── NotFound                404
├── MethodNotAllowed        405
├── Conflict                409   the link is completed already
├── PayloadTooLarge         413
├── UnsupportedMediaType    415
├── Unprocessable           422   an idempotency key that was used for another body
├── Locked                  423   a multisig transaction is on its way for the link
├── TooManyRequests         429
├── BadGateway              502   what was handed on to a network did not arrive there, or its answer did not come back
└── ChainUnavailable        503   a node did not answer; nothing was decided
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


class ServiceError(Exception):
    """An answer that is not a success. `extra` is merged into the body beside statusCode, message and error."""

    status = 500

    def __init__(self, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra = extra

    def body(self) -> dict[str, Any]:
        """The JSON body: `{statusCode, message, error, ...extra}` (supplement of the interface, error bodies)."""
        return {
            "statusCode": self.status,
            "message": self.message,
            "error": HTTPStatus(self.status).phrase,
            **self.extra,
        }


class BadRequest(ServiceError):
    status = 400


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the input: `path` names the field, `message` says what to do, `details` is shown as is."""

    path: tuple[str, ...]
    message: str
    code: str = "custom"
    details: tuple[tuple[str, Any], ...] = ()


class ValidationFailed(BadRequest):
    """Input that does not have the documented form.

    The body's `message` is the first problem's text; `errors` lists all of them. Where the interface
    documents a list under `message` (currencies, webhook test), `listed` is true.
    """

    def __init__(self, problems: tuple[Problem, ...], listed: bool = False) -> None:
        super().__init__(problems[0].message)
        self.problems = problems
        self.listed = listed

    def body(self) -> dict[str, Any]:
        if self.listed:
            message: Any = [
                {"code": p.code, **dict(p.details), "path": list(p.path), "message": p.message}
                for p in self.problems
            ]
            return {"statusCode": 400, "message": message, "error": "Bad Request"}
        errors = [{"field": ".".join(p.path), "message": p.message} for p in self.problems]
        return {**super().body(), "errors": errors}


class MulticallRefused(BadRequest):
    """Every child that keeps a multicall from being made or paid (interface.md, multicall validation envelope).

    `cap` says by how much a limit of the whole set is exceeded, where one is.
    """

    def __init__(self, failures: list[dict[str, Any]], cap: dict[str, Any] | None = None) -> None:
        over = {"cap": cap} if cap else {}
        super().__init__(
            "Multicall validation failed", code="multicall_validation_failed", failures=failures, **over
        )


class Unauthorized(ServiceError):
    status = 401

    def __init__(self, message: str = "Unauthorized", **extra: Any) -> None:
        super().__init__(message, **extra)


class Forbidden(ServiceError):
    status = 403


class ForeignOrigin(Forbidden):
    """The Origin is not one that the client id admits; nor may a page there read the answer."""


class NotFound(ServiceError):
    status = 404


class MethodNotAllowed(ServiceError):
    status = 405


class Conflict(ServiceError):
    status = 409


class PayloadTooLarge(ServiceError):
    status = 413


class UnsupportedMediaType(ServiceError):
    status = 415


class Unprocessable(ServiceError):
    status = 422


class Locked(ServiceError):
    status = 423


class TooManyRequests(ServiceError):
    """The caller is over `limit` calls a window; `retry_after` is when to come back, in seconds."""

    status = 429

    def __init__(self, retry_after: int, limit: int) -> None:
        super().__init__("ThrottlerException: Too Many Requests")
        self.retry_after = retry_after
        self.limit = limit


class BadGateway(ServiceError):
    status = 502


class ChainUnavailable(ServiceError):
    status = 503
