"""Runs a request with an Idempotency-Key once, and repeats its response."""

import json
from collections.abc import Callable
from dataclasses import replace

from chalicelib.access.callers import Caller
from chalicelib.access.idempotency import store
from chalicelib.access.idempotency.records import IdempotentRequest
from chalicelib.access.idempotency.rules import begin, check_key, record_to_replay
from chalicelib.base.errors import Conflict
from chalicelib.http.request import CHANGING, HttpRequest
from chalicelib.http.responses import HttpResponse
from chalicelib.services import Services
from chalicelib.storage.store import Delete, WriteConflict

_PIECE = 4_096  # bytes; KMS encrypts no more in one call


def run_once(
    services: Services, caller: Caller, request: HttpRequest, shows_secret: bool, run: Callable[[], HttpResponse]
) -> HttpResponse:
    """Runs the request, or returns the stored response if its Idempotency-Key was used before.

    Responses with status 429 or from 500 up are not stored, and the key is free again. Responses that show a secret or
    set a cookie are stored encrypted.
    """
    text = request.headers.get("idempotency-key")
    if text is None or request.method not in CHANGING:
        return run()
    scope = "\n".join((caller.credential, request.method, request.path, check_key(text)))
    record = _claim(services, begin(scope, _content(request), services.clock()))
    if record.status is not None:
        return _replay(services, record)
    try:
        response = run()
    except BaseException:
        services.store.write(Delete(record))
        raise
    if response.status >= 500 or response.status == 429:
        services.store.write(Delete(record))
        return response
    is_secret = response.status < 400 and (shows_secret or "Set-Cookie" in response.headers)
    _store_response(services, record, response, is_secret)
    return response


def _content(request: HttpRequest) -> bytes:
    """The parts that a repeated request must have in common: the body, and the query if there is one."""
    query = json.dumps(sorted(request.query.items())).encode() if request.query else b""
    return query + b"\n" + request.raw_body


def _claim(services: Services, request: IdempotentRequest) -> IdempotentRequest:
    """Writes the record of a request under its key, or returns a stored one with its response to be repeated.

    Raises Conflict if another request holds the key, Unprocessable if the stored request had another body.
    """
    try:
        services.store.write(request)
        return replace(request, version=1)
    except WriteConflict:
        pass
    stored = store.request_of(services.store, request.scope_hash)
    completed = record_to_replay(stored, request, services.clock()) if stored else None
    if completed is not None:
        return completed
    version = stored.version if stored else 0
    try:
        services.store.write(replace(request, version=version))
    except WriteConflict:
        raise Conflict("A request with this Idempotency-Key is still running: try again in a moment") from None
    return replace(request, version=version + 1)


def _store_response(services: Services, record: IdempotentRequest, response: HttpResponse, is_secret: bool) -> None:
    """Stores the response. A failure is only logged: the request took effect, and the caller needs the response."""
    text = json.dumps([response.body, dict(response.headers)], ensure_ascii=is_secret)
    try:
        if is_secret:
            pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
            text = "\n".join(services.secrets.encrypt(piece, _owner(record)) for piece in pieces)
        services.store.write(replace(record, status=response.status, answer=text, is_encrypted=is_secret))
    except WriteConflict:
        services.log.error("request ran longer than its idempotency lease", extra={"scope": record.scope_hash})
    except Exception:  # any failure of AWS: a 500 would make the caller repeat a request that has taken effect
        services.log.exception("response not stored", extra={"scope": record.scope_hash})


def _replay(services: Services, stored: IdempotentRequest) -> HttpResponse:
    assert stored.status is not None and stored.answer is not None
    text = stored.answer
    if stored.is_encrypted:
        text = "".join(services.secrets.decrypt(piece, _owner(stored)) for piece in text.split("\n"))
    body, headers = json.loads(text)
    return HttpResponse(stored.status, body, {**headers, "Idempotent-Replayed": "true"})


def _owner(stored: IdempotentRequest) -> str:
    """The owner a response is encrypted for. The API may decrypt only what has this prefix (infra/iam.py)."""
    return f"answer#{stored.scope_hash}"
