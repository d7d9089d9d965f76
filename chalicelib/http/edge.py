"""The one decorator round every view: caller, limits, body, idempotency, errors, CORS and request id.

It also keeps the list of operations: which mode may call what is read from it by the OpenAPI document and the tests.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chalice.app import Blueprint, Chalice, Response
from pydantic import BaseModel

from chalicelib.access.audit.records import Actor
from chalicelib.access.callers import Caller
from chalicelib.access.credentials.flows import note_use
from chalicelib.access.credentials.rules import check_scope
from chalicelib.access.flows import identify, nobody
from chalicelib.access.modes import Mode
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
from chalicelib.http import limits
from chalicelib.http.credentials import origin_sent, refuse_other_pages, sent_by, session_token
from chalicelib.http.idempotency import Answer, once
from chalicelib.http.operation import Call, Operation, Reply
from chalicelib.http.parsing import parse_body, parse_query
from chalicelib.http.request import Incoming, incoming, refuse_repeated
from chalicelib.http.responses import METHODS, answer_of, cors_headers, error_answer, preflight_headers, respond
from chalicelib.services import Services, assembled
from chalicelib.storage.store import WriteConflict

_LOGGED = 500  # characters: a message may repeat what was sent


OPERATIONS: list[Operation] = []

View = Callable[[Call], Any]


def operation(
    blueprint: Blueprint, method: str, path: str, name: str | None = None, **facts: Any
) -> Callable[[View], View]:
    """Routes a view. `facts` are the fields of Operation; the view returns a model, a list, a Reply or an Answer.

    The operation is named as the view, unless a view that is routed twice needs another `name`.
    """

    def register(view: View) -> View:
        known = Operation(method=method, path=path, name=name or view.__name__, **facts)
        OPERATIONS.append(known)

        def handler(**path_parameters: str) -> Response:
            return _handle(known, view, incoming(blueprint.current_request, path_parameters))

        blueprint.route(path, methods=[method], name=known.name, content_types=["*/*"])(handler)
        return view

    return register


def complete_routes(app: Chalice) -> None:
    """Preflights, and 405 for every method that a known path does not have; API Gateway alone would say 403."""
    allowed = {path: sorted({*entries, "OPTIONS"}) for path, entries in app.routes.items()}
    with_session = {known.path for known in OPERATIONS if known.with_session}

    def preflight(**_: str) -> Response:
        current: Any = app.current_request
        path, request, settings = current.context["resourcePath"], incoming(current, {}), assembled().settings
        headers = preflight_headers(settings, request, ", ".join(allowed[path]), path in with_session)
        return Response("", status_code=204, headers={"x-request-id": request.request_id, **headers})

    def method_not_allowed(**_: str) -> Response:
        current: Any = app.current_request
        path, request = current.context["resourcePath"], incoming(current, {})
        error = MethodNotAllowed(f"Cannot {request.method} {request.path}: the method is not allowed here")
        answer = error_answer(error, {"Allow": ", ".join(allowed[path])})
        return respond(answer, request, cors_headers(assembled().settings, request, False, False))

    for path, methods in allowed.items():
        others = [method for method in (*METHODS, "HEAD") if method not in methods]
        app.route(path, methods=["OPTIONS"], name="preflight", content_types=["*/*"])(preflight)
        app.route(path, methods=others, name="method_not_allowed", content_types=["*/*"])(method_not_allowed)


def _handle(known: Operation, view: View, request: Incoming) -> Response:
    services = assembled()
    services.log.thread_safe_append_keys(request_id=request.request_id, operation=known.name)
    answer = guarded(services, lambda: _admit(known, view, services, request))
    if answer.status != 500:  # that is in the log, with its trace
        services.log.info("answered", extra={"status": answer.status, **_told(answer)})
    cors = cors_headers(services.settings, request, answer.is_foreign, known.with_session)
    return respond(answer, request, cors)


def guarded(services: Services, act: Callable[[], Answer]) -> Answer:
    """What `act` answers, or its failure as an answer."""
    try:
        return act()
    except ServiceError as error:
        return error_answer(error)
    except WriteConflict:
        return error_answer(Conflict("The record was changed at the same moment: try again"))
    except Exception:  # the edge of the process: whatever failed is logged, and the caller learns nothing of it
        services.log.exception("failed")
        return error_answer(ServiceError("Internal server error"))


def _admit(known: Operation, view: View, services: Services, request: Incoming) -> Answer:
    """Who is calling, and how often; then, whatever comes of it, how many calls are left."""
    try:
        refuse_repeated(request)
        caller = _caller(known, services, request)
    except (BadRequest, Unauthorized, Forbidden) as error:
        return _turned_away(services, request, error)
    headers = limits.spend(services, caller, known.rate).headers if known.rate else {}
    answer = guarded(services, lambda: _answer(known, view, services, caller, request))
    return replace(answer, headers={**headers, **answer.headers})


def _caller(known: Operation, services: Services, request: Incoming) -> Caller:
    sent = sent_by(request, known.modes)
    if sent is not None:
        if sent.mode is Mode.SESSION and "authorization" not in request.headers:
            refuse_other_pages(services.settings, request)
        return identify(services, sent, origin_sent(services.settings, request, sent), request.ip_address)
    token = session_token(request.headers)
    return nobody(services, request.origin, request.ip_address, token, looks=known.rate is not None)


def _turned_away(services: Services, request: Incoming, error: ServiceError) -> Answer:
    """The answer to one who was not admitted: counted by address, and told to wait when there were too many."""
    try:
        refused = error_answer(error, limits.spend_failure(services, request).headers)
    except TooManyRequests as too_many:
        refused = error_answer(too_many)
    return replace(refused, is_foreign=isinstance(error, ForeignOrigin))


def _answer(known: Operation, view: View, services: Services, caller: Caller, request: Incoming) -> Answer:
    """What the caller may do is done, once for each idempotency key."""
    check_scope(caller.scopes, known.scope)
    if caller.reads_any_link and not known.by_page:
        raise Forbidden("This client ID is the payment page's own: it shows and pays links, and does nothing else")
    note_use(services, caller.credential_ids)

    def run() -> Answer:
        try:
            return _run(known, view, services, caller, request)
        except NotFound as error:
            if known.looks_up_token:
                limits.spend_unknown_token(services, caller)
            return error_answer(error)
        except ServiceError as error:
            return error_answer(error)

    return once(services, caller, request, known.shows_secret, run)


def _run(known: Operation, view: View, services: Services, caller: Caller, request: Incoming) -> Answer:
    call = Call(
        services=services,
        caller=caller,
        actor=Actor(caller.account_id, caller.actor, request.ip_address, request.request_id),
        body=_body(known, request),
        query=parse_query(request, known.query, known.lists_problems) if known.query else None,
        path=request.parameters,
    )
    result = view(call)
    if isinstance(result, Answer):
        return result
    if isinstance(result, Reply):
        return answer_of(result.value, known.status, result.headers)
    return answer_of(result, known.status)


def _body(known: Operation, request: Incoming) -> BaseModel | None:
    if known.body is None or (known.optional_body and not request.raw_body):
        return None
    return parse_body(request, known.body, known.lists_problems)


def _told(answer: Answer) -> dict[str, str]:
    return {"reason": answer.reason[:_LOGGED]} if answer.reason else {}
