"""What goes wrong, as exceptions.

    PaymentRequestsError
      ConnectionFailed      no response
      InvalidSignature      a webhook is not from the service, or too old
      ApiError              a response says no: status, code, message, request_id, body
        BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, Conflict 409, Unprocessable 422, RateLimited 429
        WaitsForApproval 202    a change that others of the account have to approve
        ServerError 5xx
"""

from typing import Any


class PaymentRequestsError(Exception):
    """The base of all."""


class ConnectionFailed(PaymentRequestsError):
    """No response was received: of what changes something it is not known whether it was done."""


class InvalidSignature(PaymentRequestsError):
    """A webhook that is not from the service, or not of now."""


class ApiError(PaymentRequestsError):
    """`status` is that of HTTP, `code` the code of the body (None if it has none), `request_id` what the operator finds
    the request by, `body` the JSON of the response."""

    def __init__(self, status: int, code: str | None, message: str, request_id: str | None, body: Any) -> None:
        super().__init__(f"{status} {message}" + (f" (request {request_id})" if request_id else ""))
        self.status, self.code, self.message = status, code, message
        self.request_id, self.body = request_id, body


class WaitsForApproval(ApiError):
    """The change was asked for, and takes effect once it is approved: `body["pendingChange"]`."""


class BadRequest(ApiError):
    """What was sent is wrong: the message says what."""


class Unauthorized(ApiError):
    """The credential is missing or wrong."""


class Forbidden(ApiError):
    """The credential may not do this."""


class NotFound(ApiError):
    """There is no such thing, or it is another account's."""


class Conflict(ApiError):
    """It cannot be done in the state that things are in."""


class Unprocessable(ApiError):
    """The idempotency key was used with another body, or the request cannot be followed."""


class RateLimited(ApiError):
    """There were too many calls, also after the attempts that were made."""


class ServerError(ApiError):
    """The service failed, also after the attempts that were made."""


_BY_STATUS: dict[int, type[ApiError]] = {
    202: WaitsForApproval,
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    422: Unprocessable,
    429: RateLimited,
}


def error_of(status: int, body: Any, request_id: str | None) -> ApiError:
    """The error that a response tells of."""
    fields = body if isinstance(body, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    text = message if isinstance(message, str) else str(message or "the response has no message")
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    return kind(status, code if isinstance(code, str) else None, text, request_id, body)
