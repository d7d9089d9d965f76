"""What happens round every view: caller, limits, body, idempotency, errors, CORS and request id."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from chalice.app import Response
from pydantic import BaseModel

from chalicelib.access.audit.records import Actor
from chalicelib.access.callers import Caller
from chalicelib.access.credentials.flows import record_use
from chalicelib.access.credentials.rules import check_scope
from chalicelib.access.flows import anonymous_caller, identify, refused_caller
from chalicelib.access.modes import Mode, Rate
from chalicelib.access.rate_limits.flows import count_call, count_unknown_token
from chalicelib.base.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    ForeignOrigin,
    MethodNotAllowed,
    NotFound,
    ServiceError,
    TooManyRequests,
    Unauthorized,
)
from chalicelib.http.credentials import origin_sent, refuse_other_pages, sent_by, session_token
from chalicelib.http.idempotency import run_once
from chalicelib.http.operation import Operation, PageRoute
from chalicelib.http.parsing import parse_body, parse_query
from chalicelib.http.request import HttpRequest, refuse_repeated, request_of
from chalicelib.http.responses import (
    HttpResponse,
    cors_headers,
    error_response,
    limit_headers,
    preflight_headers,
    response_of,
    to_chalice,
)
from chalicelib.http.view import Call, PageView, Reply, View, Visit, models_of
from chalicelib.services import Services
from chalicelib.storage.store import WriteConflict

__all__ = ["handle", "handle_page", "preflight", "refuse_method", "request_of"]

_LOGGED = 500  # characters: a message may repeat what was sent


def handle(operation: Operation, view: View, services: Services, request: HttpRequest) -> Response:
    """The response of an operation; whatever fails is a response too."""
    services.log.thread_safe_append_keys(request_id=request.request_id, operation=operation.name)
    response = _guarded(services, lambda: _admit(operation, view, services, request))
    if response.status != 500:  # that is in the log, with its trace
        services.log.info("answered", extra={"status": response.status, **_reason(response)})
    cors = cors_headers(services.settings, request, response.is_foreign, operation.with_session)
    return to_chalice(response, request, cors)


def handle_page(page: PageRoute, view: PageView, services: Services, request: HttpRequest) -> Response:
    """The response to a browser that opens a page or asks for one of its files."""
    services.log.thread_safe_append_keys(request_id=request.request_id, operation=page.name)
    return to_chalice(_guarded(services, lambda: view(Visit(services, request))), request, {})


def preflight(services: Services, request: HttpRequest, methods: Sequence[str], with_session: bool) -> Response:
    """The response to the OPTIONS request that browsers send ahead."""
    headers = preflight_headers(services.settings, request, ", ".join(methods), with_session)
    return Response("", status_code=204, headers={"x-request-id": request.request_id, **headers})


def refuse_method(services: Services, request: HttpRequest, methods: Sequence[str]) -> Response:
    """405 for a method that the path does not have."""
    error = MethodNotAllowed(f"Cannot {request.method} {request.path}: the method is not allowed here")
    response = error_response(error, {"Allow": ", ".join(methods)})
    return to_chalice(response, request, cors_headers(services.settings, request, False, False))


def _guarded(services: Services, act: Callable[[], HttpResponse]) -> HttpResponse:
    """The response of `act`, or its failure as one."""
    try:
        return act()
    except ServiceError as error:
        return error_response(error)
    except WriteConflict:
        return error_response(Conflict("The record was changed at the same moment: try again"))
    except Exception:  # the edge of the process: the failure is logged, and the caller learns nothing of it
        services.log.exception("failed")
        return error_response(ServiceError("Internal server error"))


def _admit(operation: Operation, view: View, services: Services, request: HttpRequest) -> HttpResponse:
    """Identifies the caller and counts the call; the response then says how many calls are left."""
    try:
        refuse_repeated(request)
        caller = _caller(operation, services, request)
    except (BadRequest, Unauthorized, Forbidden) as error:
        return _not_admitted(services, request, error)
    headers = limit_headers(count_call(services, caller, operation.rate)) if operation.rate else {}
    response = _guarded(services, lambda: _respond(operation, view, services, caller, request))
    return replace(response, headers={**headers, **response.headers})


def _caller(operation: Operation, services: Services, request: HttpRequest) -> Caller:
    sent = sent_by(request, operation.modes)
    if sent is not None:
        if sent.mode is Mode.SESSION and "authorization" not in request.headers:
            refuse_other_pages(services.settings, request)
        return identify(services, sent, origin_sent(services.settings, request, sent), request.ip_address)
    token = session_token(request.headers)
    return anonymous_caller(services, request.origin, request.ip_address, token, reads_ban=operation.rate is not None)


def _not_admitted(services: Services, request: HttpRequest, error: ServiceError) -> HttpResponse:
    """The refusal of a caller whose credential does not hold. It is counted by address, so that guessing credentials is
    limited too: 429 when there were too many."""
    try:
        caller = refused_caller(services, request.origin, request.ip_address)
        response = error_response(error, limit_headers(count_call(services, caller, Rate.TIER)))
    except TooManyRequests as too_many:
        response = error_response(too_many)
    return replace(response, is_foreign=isinstance(error, ForeignOrigin))


def _respond(
    operation: Operation, view: View, services: Services, caller: Caller, request: HttpRequest
) -> HttpResponse:
    """Does what the caller may do, once for each idempotency key."""
    check_scope(caller.scopes, operation.scope)
    if caller.reads_any_link and not operation.by_page:
        raise Forbidden("This client ID is the payment page's own: it shows and pays links, and does nothing else")
    record_use(services, caller.credential_ids)

    def run() -> HttpResponse:
        try:
            return _run(operation, view, services, caller, request)
        except NotFound as error:
            if operation.looks_up_token:
                count_unknown_token(services, caller)
            return error_response(error)
        except ServiceError as error:
            return error_response(error)

    return run_once(services, caller, request, operation.shows_secret, run)


def _run(operation: Operation, view: View, services: Services, caller: Caller, request: HttpRequest) -> HttpResponse:
    models, listed = models_of(view), operation.lists_problems
    body: BaseModel | None = None
    if models.body is not None and (request.raw_body or not models.is_body_optional):
        body = parse_body(request, models.body, listed)
    call = Call(
        services=services,
        caller=caller,
        actor=Actor(caller.account_id, caller.actor, request.ip_address, request.request_id),
        body=body,
        query=parse_query(request, models.query, listed) if models.query else None,
        path=request.parameters,
    )
    result = view(call)
    if isinstance(result, HttpResponse):
        return result
    if isinstance(result, Reply):
        return response_of(result.value, operation.status, result.headers)
    return response_of(result, operation.status)


def _reason(response: HttpResponse) -> Mapping[str, str]:
    return {"reason": response.reason[:_LOGGED]} if response.reason else {}
