"""Responses: bodies as text, the shape of errors, rate limit and CORS headers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chalice.app import Response
from pydantic import BaseModel

from chalicelib.base.errors import ChainUnavailable, ServiceError, TooManyRequests
from chalicelib.base.frozen import frozen
from chalicelib.platform.access.rate_limits.flows import Allowance
from chalicelib.platform.http.errors import error_body
from chalicelib.platform.http.operation import ProblemForm
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.settings import Settings

_REQUEST_HEADERS = (
    "content-type, authorization, x-api-key, x-client-id, x-orchestrator-key, idempotency-key, x-signed-in-as, "
    "x-announcer-secret"
)
_EXPOSED = (
    "date, x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, idempotent-replayed, link"
)
_PREFLIGHT_SECONDS = 600
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


@frozen
class HttpResponse:
    """A response before it is sent; it can be stored for an idempotency key.

    `reason` is the message of an error, for the log. `is_foreign` is set if the caller's origin was refused: its pages
    may read why, but not with cookies. `is_final` is set for a refusal that stays the same whatever happens, as that of
    a body that has not its form; `is_undone` for one after which nothing is left of what was written.
    """

    status: int
    body: str
    headers: Mapping[str, str]
    reason: str | None = None
    is_foreign: bool = False
    is_final: bool = False
    is_undone: bool = False


def response_of(value: Any, status: int, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """The result of a view as a response. It is a model, a list of models, or plain JSON values."""
    return HttpResponse(status, _json(value), dict(headers or {}))


def file_part(text: str, media_type: str, name: str, following: str | None) -> HttpResponse:
    """A part of a file to download, as text; the header Link has the URL of the `following` part, if there is one."""
    headers = {"Content-Type": f"{media_type}; charset=utf-8", "Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(200, text, headers if following is None else {**headers, "Link": f'<{following}>; rel="next"'})


def error_response(
    error: ServiceError, headers: Mapping[str, str] | None = None, form: ProblemForm = ProblemForm.FIRST
) -> HttpResponse:
    """The response to an error. `Retry-After` is set if it is known when a retry can succeed."""
    own: dict[str, str] = {}
    if isinstance(error, TooManyRequests):
        reset = str(error.retry_after)
        own = {
            "Retry-After": reset,
            "RateLimit-Limit": str(error.limit),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": reset,
        }
    if isinstance(error, ChainUnavailable):
        own = {"Retry-After": str(error.retry_seconds)}
    response = response_of(error_body(error, form), error.status, {**(headers or {}), **own})
    return replace(response, reason=error.logged or error.message, is_undone=error.is_undone)


def limit_headers(allowances: Sequence[Allowance]) -> dict[str, str]:
    """The headers of the rate limit that has the least left."""
    allowance = min(allowances, key=lambda each: each.remaining)
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset),
    }


def to_chalice(response: HttpResponse, request: HttpRequest, cors: Mapping[str, str]) -> Response:
    own = {"Content-Type": "application/json", "x-request-id": request.request_id}
    return Response(response.body, status_code=response.status, headers={**own, **cors, **response.headers})


def cors_headers(settings: Settings, request: HttpRequest, with_session: bool) -> dict[str, str]:
    """The headers with which pages of the caller's origin may read the response, errors included.

    Every origin may, also one that was refused, so that its developer sees why: the response says nothing that the
    page could not learn without a browser. Cookies are allowed for session operations and the configured dashboards.
    """
    headers = {"Vary": "Origin"}
    if not request.origin:
        return headers
    headers |= {"Access-Control-Allow-Origin": request.origin, "Access-Control-Expose-Headers": _EXPOSED}
    if with_session and request.origin in settings.session_origins:
        headers["Access-Control-Allow-Credentials"] = "true"
    return headers


def preflight_headers(settings: Settings, request: HttpRequest, methods: str, with_session: bool) -> dict[str, str]:
    """The headers of the response to a preflight. Any origin is allowed, as the client id is not known yet."""
    return {
        **cors_headers(settings, request, with_session),
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": _REQUEST_HEADERS,
        "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
    }


def _json(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_unset=True, by_alias=True)
    return f"[{','.join(map(_json, value))}]" if isinstance(value, list | tuple) else _JSON.encode(value)
