"""The steps around every view: caller, rate limit, idempotency, body, errors, CORS and request id."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from chalice.app import Response

from chalicelib.base import ids
from chalicelib.base.errors import (
    BadRequest,
    ChangedMeanwhile,
    Forbidden,
    ForeignOrigin,
    MethodNotAllowed,
    NotFound,
    ServiceError,
    TooManyRequests,
    Unauthorized,
)
from chalicelib.platform.access.callers import Caller, check_executes
from chalicelib.platform.access.credentials.flows import record_use
from chalicelib.platform.access.flows import anonymous_caller, identify, refuse_caller
from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.access.permissions import check_permitted
from chalicelib.platform.access.presence import check_presence, check_second_factor
from chalicelib.platform.access.rate_limits.flows import Allowance, count_call, count_items, count_unknown_token
from chalicelib.platform.access.sessions.rules import check_signed_in_as
from chalicelib.platform.emergency_stop.flows import refuse_while_stopped
from chalicelib.platform.http import credentials, responses
from chalicelib.platform.http.operation import Operation, PageRoute
from chalicelib.platform.http.parsing import call_of, check_body
from chalicelib.platform.http.replay import run_once
from chalicelib.platform.http.request import HttpRequest, check_headers
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.http.view import AnyCall, PageView, Reply, View, Visit, models_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict

_CHANGES = "chalicelib.accounts.changes.asking"  # above this package: imported where an operation needs it
_SANDBOX = "chalicelib.sandbox.opening"  # likewise, where a call is made in a sandbox
_MAX_REASON = 500  # characters of an error message that are logged; a message may quote the request


def handle(operation: Operation, view: View, services: Services, request: HttpRequest) -> Response:
    """The response of an operation. Every failure is turned into a response too."""
    services.log.thread_safe_append_keys(request_id=request.request_id, operation=operation.name)
    response = _respond_to_errors(services, lambda: admit(operation, view, services, request))
    if response.status != 500:  # a 500 is logged with its trace
        services.log.info("responded", extra={"status": response.status, **_reason(response)})
    with_session = operation.with_session and not response.is_foreign
    cors = responses.cors_headers(services.settings, request, with_session)
    return responses.to_chalice(response, request, cors)


def handle_page(page: PageRoute, view: PageView, services: Services, request: HttpRequest) -> Response:
    """The response to a browser that requests a page or one of its files."""
    services.log.thread_safe_append_keys(request_id=request.request_id, operation=page.name)
    return responses.to_chalice(_respond_to_errors(services, lambda: view(Visit(services, request))), request, {})


def preflight(services: Services, request: HttpRequest, methods: Sequence[str], with_session: bool) -> Response:
    """The response to a CORS preflight request (OPTIONS)."""
    headers = responses.preflight_headers(services.settings, request, ", ".join(methods), with_session)
    return Response("", status_code=204, headers={"x-request-id": request.request_id, **headers})


def refuse_method(services: Services, request: HttpRequest, methods: Sequence[str]) -> Response:
    """405 for a method that the path does not have."""
    error = MethodNotAllowed(f"Cannot {request.method} {request.path}: the method is not allowed here")
    response = responses.error_response(error, {"Allow": ", ".join(methods)})
    return responses.to_chalice(
        response, request, responses.cors_headers(services.settings, request, with_session=False)
    )


def _respond_to_errors(services: Services, run: Callable[[], responses.HttpResponse]) -> responses.HttpResponse:
    """The response of `run`, or an error response if it raises."""
    try:
        return run()
    except ServiceError as error:
        return responses.error_response(error)
    except WriteConflict:
        return responses.error_response(ChangedMeanwhile("The record was changed at the same moment: try again"))
    except Exception:  # the last handler: the failure is logged, and the response shows nothing of it
        services.log.exception("request failed")
        return responses.error_response(ServiceError("Internal server error"))


def admit(operation: Operation, view: View, services: Services, request: HttpRequest) -> responses.HttpResponse:
    """The response of an operation before it is sent. Identifies the caller and counts the call.

    The response headers say how many calls are left.
    """
    try:
        check_headers(request)
        caller = _caller(operation, services, request)
    except (BadRequest, Unauthorized, Forbidden) as error:
        return _refuse_caller(services, request, error)
    allowances = [count_call(services, caller, operation.rate)] if operation.rate else []
    response = _respond_to_errors(services, lambda: _respond(operation, view, services, caller, request, allowances))
    if not allowances:
        return response
    return replace(response, headers={**responses.limit_headers(allowances), **response.headers})


def _caller(operation: Operation, services: Services, request: HttpRequest) -> Caller:
    sent = credentials.read_credential(request, operation.modes)
    uses_cookie = sent is not None and sent.mode is Mode.SESSION and credentials.bearer_token(request.headers) is None
    if operation.signs_in or uses_cookie:
        credentials.refuse_foreign_pages(services.settings, request)
    if sent is not None:
        origin = credentials.effective_origin(services.settings, request, sent)
        if sent.mode in operation.modes:
            return identify(services, sent, origin, request.ip_address)
        said = credentials.describe_refusal(sent.mode, operation.modes)
        try:
            identify(services, sent, origin, request.ip_address)
        except (Unauthorized, Forbidden):
            raise Unauthorized(said) from None
        raise Forbidden(said)
    token = credentials.session_token(request.headers) if operation.signs_in else None
    return anonymous_caller(services, request.origin, request.ip_address, token, reads_ban=operation.rate is not None)


def _refuse_caller(services: Services, request: HttpRequest, error: ServiceError) -> responses.HttpResponse:
    """The error response to a caller without a valid credential. It is counted by address, to limit guessing: 429 above
    the limit."""
    try:
        caller = refuse_caller(services, request.origin, request.ip_address)
        response = responses.error_response(error, responses.limit_headers([count_call(services, caller, Rate.TIER)]))
    except TooManyRequests as too_many:
        response = responses.error_response(too_many)
    return replace(response, is_foreign=isinstance(error, ForeignOrigin))


def _respond(
    operation: Operation,
    view: View,
    services: Services,
    caller: Caller,
    request: HttpRequest,
    allowances: list[Allowance],
) -> responses.HttpResponse:
    """Checks what the caller may do and runs the view, once for each idempotency key.

    What is left after counting the items that the call writes is added to `allowances`.
    """
    _check_caller(operation, services, caller, request)
    if not models_of(view).is_body_signed:
        check_body(request)
    record_use(services, caller.credential_ids)

    def count(items: int) -> None:  # now, and not at the time that a resumed request sees
        allowances.extend(count_items(services, caller, items))

    def run(joined: Services) -> responses.HttpResponse:
        try:
            call = call_of(view, joined, caller, request)
        except ServiceError as error:
            return replace(responses.error_response(error, form=operation.problem_form), is_final=True)
        try:
            return _run(operation, view, call, request, count)
        except NotFound as error:
            if operation.looks_up_token:
                count_unknown_token(services, caller)
            return responses.error_response(error)
        except ServiceError as error:
            return responses.error_response(error, form=operation.problem_form)

    inside = _open_sandbox(operation, services, caller, request)
    if operation.is_repeatable:
        return run(inside)
    if operation.former_path_of:
        request = replace(request, route=operation.former_path_of)
    return run_once(inside, caller, request, operation.shows_secret, run)


def _check_caller(operation: Operation, services: Services, caller: Caller, request: HttpRequest) -> None:
    """Raises what keeps the caller from the operation, whatever is in the body."""
    if caller.session and (named := request.headers.get("x-signed-in-as", "").strip()):
        check_signed_in_as(caller.session, named)
    if caller.member and not operation.before_second_factor:
        check_second_factor(caller.member)
    check_permitted(caller, operation.scope)
    if caller.member and operation.needs_presence:
        check_presence(caller.member, services.clock(), changes_sign_in=operation.changes_sign_in)
    if caller.reads_any_link and not operation.by_page:
        raise Forbidden("This client ID is the payment page's own: it shows and pays links, and does nothing else")
    if operation.executes:
        check_executes(caller.owner)
    if operation.moves_money:
        refuse_while_stopped(services)


def _open_sandbox(operation: Operation, services: Services, caller: Caller, request: HttpRequest) -> Services:
    """The services of the sandbox of a test credential, or of the link that the payment page calls for; else the live
    ones."""
    account_id = caller.account_id if caller.is_test else None
    if caller.reads_any_link:
        account_id = ids.sandbox_of(request.parameters.get("token", ""))
    if account_id is None:
        return services
    opened: Services = import_module(_SANDBOX).open_for(services, operation, account_id)
    return opened


def _run(
    operation: Operation, view: View, call: AnyCall, request: HttpRequest, count: Callable[[int], None]
) -> responses.HttpResponse:
    if isinstance(call.body, Input):
        count(call.body.items_written)
    if operation.redirects:
        result = import_module(_CHANGES).run(operation, view, call, request)
    else:
        result = view(call)
    response = _response(operation, result)
    if "Set-Cookie" in response.headers and not (operation.signs_in or call.caller.session):
        raise AssertionError("only an operation that signs in or is called in a session refuses foreign pages")
    return response


def _response(operation: Operation, result: Any) -> responses.HttpResponse:
    if isinstance(result, responses.HttpResponse):
        return result
    if isinstance(result, Reply):
        return responses.response_of(result.value, operation.status, result.headers)
    return responses.response_of(result, operation.status)


def _reason(response: responses.HttpResponse) -> Mapping[str, str]:
    return {"reason": response.reason[:_MAX_REASON]} if response.reason else {}
