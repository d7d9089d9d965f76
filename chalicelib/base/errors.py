"""Every error the service answers with, in one tree. They hold records; `http/errors.py` makes response bodies of them.

ServiceError                      a status, a message that says what to do, and records of what it is about
├── BadRequest              400   the caller's input cannot be used; the message says what to change
│   ├── ValidationFailed    400   several fields at once: a list of problems
│   ├── MulticallRefused    400   payouts that cannot be paid together, in links.multicalls.rules
│   └── TransfersOfChildren 400   a multicall was asked for transfers, in transfers.rules
├── Unauthorized            401   no credential, or one that is not known
├── Forbidden               403   a known credential that may not do this
│   ├── ForeignOrigin       403   a page that the client id does not admit
│   ├── LinkClosed          403   a link that has expired or was invalidated, in links.errors
│   └── WrongWallet         403   a payout that only its creator's wallet may pay, in links.errors
├── NotFound                404
├── MethodNotAllowed        405
├── Conflict                409   the record is in another state than the call needs
│   └── LinkCompleted       409   a link that is paid already, in links.errors
├── PayloadTooLarge         413
├── UnsupportedMediaType    415
├── Unprocessable           422   an idempotency key that was used for another body
├── Locked                  423
│   └── LinkLocked          423   a link that waits for a multisig transaction, in links.errors
├── TooManyRequests         429
├── BadGateway              502   what was handed to a network may not have arrived there, or its response was lost
├── SafeServiceUnavailable  503   the Safe Transaction Service did not answer, in chain.safe_service
└── ChainUnavailable        503   a node did not answer; nothing was decided
    ├── RpcError             503  the node answered with an error, in chain.jsonrpc
    ├── NodeTimeout          503  the node did not answer in time, in chain.jsonrpc
    └── NodeResponseTooLarge 503  the node sent more than is read, in chain.jsonrpc
"""

from dataclasses import dataclass
from typing import Any


class ServiceError(Exception):
    """A response that is not a success: `message` is what the caller reads."""

    status = 500
    shown_by: str | None = None
    """The module that registers what the body shows of the records that the error holds (http/errors.py)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


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


class Unauthorized(ServiceError):
    status = 401

    def __init__(self, message: str = "Unauthorized") -> None:
        super().__init__(message)


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
