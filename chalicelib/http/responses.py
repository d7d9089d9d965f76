"""Answers: bodies as bytes, errors in their shape, and what browsers of other origins may read."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalice.app import Response
from pydantic import BaseModel

from chalicelib.base.errors import ChainUnavailable, ServiceError, TooManyRequests
from chalicelib.http.idempotency import Answer
from chalicelib.http.request import Incoming
from chalicelib.settings import Settings

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_REQUEST_HEADERS = (
    "content-type, authorization, x-api-key, x-client-id, x-orchestrator-key, idempotency-key"
)
_EXPOSED = (
    "x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, idempotent-replayed"
)
_PREFLIGHT_SECONDS = 600
_NODE_RETRY_SECONDS = 5


def answer_of(value: Any, status: int, headers: Mapping[str, str] | None = None) -> Answer:
    """A view's result as an answer: a model, a list of them, or plain JSON values."""
    text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
    return Answer(status, text, dict(headers or {}))


def error_answer(error: ServiceError, headers: Mapping[str, str] | None = None) -> Answer:
    """An error in the one shape, saying when to come back where that is known."""
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
        own = {"Retry-After": str(_NODE_RETRY_SECONDS)}
    answer = answer_of(error.body(), error.status, {**(headers or {}), **own})
    return replace(answer, reason=error.message)


def respond(answer: Answer, request: Incoming, cors: Mapping[str, str]) -> Response:
    """The answer on the wire."""
    own = {"Content-Type": "application/json", "x-request-id": request.request_id}
    return Response(answer.body, status_code=answer.status, headers={**own, **cors, **answer.headers})


def cors_headers(settings: Settings, request: Incoming, is_foreign: bool, with_session: bool) -> dict[str, str]:
    """What lets a page of the caller's origin read the answer, errors included.

    The origin is echoed unless it was refused (`is_foreign`). Cookies are for session operations and the
    configured dashboards alone.
    """
    headers = {"Vary": "Origin"}
    if not request.origin or is_foreign:
        return headers
    headers |= {"Access-Control-Allow-Origin": request.origin, "Access-Control-Expose-Headers": _EXPOSED}
    if with_session and request.origin in settings.session_origins:
        headers["Access-Control-Allow-Credentials"] = "true"
    return headers


def preflight_headers(settings: Settings, request: Incoming, methods: str, with_session: bool) -> dict[str, str]:
    """The answer to a preflight. Which client id will come is not known yet, so every origin may ask."""
    return {
        **cors_headers(settings, request, is_foreign=False, with_session=with_session),
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": _REQUEST_HEADERS,
        "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
