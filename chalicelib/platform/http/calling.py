"""Makes the argument of a view from a request."""

from chalicelib.platform.access.callers import Caller
from chalicelib.platform.http.parsing import parse_body, parse_query
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.http.view import AnyCall, Call, Signed, View, models_of
from chalicelib.platform.services import Services


def call_of(view: View, services: Services, caller: Caller, request: HttpRequest) -> AnyCall:
    """The call, now and with fresh entropy. Raises BadRequest, ValidationFailed."""
    models = models_of(view)
    body: Input | Signed[Input] | None = None
    if models.is_body_signed:
        body = Signed(request.raw_body)
    elif models.body is not None and (request.raw_body or not models.is_body_optional):
        body = parse_body(request, models.body)
    return Call(
        services=services,
        caller=caller,
        actor=caller.acting(request.ip_address, request.request_id),
        body=body,
        query=parse_query(request, models.query) if models.query else None,
        path=request.parameters,
        asked_at=services.clock(),
        entropy=services.entropy,
        headers=request.headers,
    )
