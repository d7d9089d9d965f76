"""The error for a request that was cancelled; payments/requests/schemas.py shapes its body."""

from chalicelib.base.errors import Conflict
from chalicelib.payments.requests.records import Request


class RequestCancelled(Conflict):
    """The payee has cancelled the request: it cannot be paid any more."""

    shown_by = "chalicelib.payments.requests.schemas"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"Request {request_id} was cancelled by its payee: do not pay it")


def check_not_cancelled(request: Request) -> None:
    """Raises RequestCancelled."""
    if request.is_cancelled:
        raise RequestCancelled(request.request_id)
