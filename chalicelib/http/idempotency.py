"""Idempotency-Key at the edge: run once, answer the same again."""

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

_PIECE = 4_096  # bytes: what KMS encrypts at once


def run_once(
    services: Services, caller: Caller, request: HttpRequest, shows_secret: bool, run: Callable[[], HttpResponse]
) -> HttpResponse:
    """Runs the request, or gives the answer that its Idempotency-Key has already.

    Answers of 500 and above, and refusals that ask to come again (429), are not kept: the key is free again. An answer
    that shows a secret, or sets a cookie, is kept encrypted.
    """
    text = request.headers.get("idempotency-key")
    if text is None or request.method not in CHANGING:
        return run()
    scope = "\n".join((caller.credential, request.method, request.path, check_key(text)))
    asked = begin(scope, _said(request), services.clock())
    mine = _take(services, asked)
    if mine.status is not None:
        return _read(services, mine)
    try:
        answer = run()
    except BaseException:
        services.store.write(Delete(mine))
        raise
    if answer.status >= 500 or answer.status == 429:
        services.store.write(Delete(mine))
        return answer
    _keep(services, mine, answer, answer.status < 400 and (shows_secret or "Set-Cookie" in answer.headers))
    return answer


def _said(request: HttpRequest) -> bytes:
    """What a repetition has to say again: the body, and the query where there is one."""
    query = json.dumps(sorted(request.query.items())).encode() if request.query else b""
    return query + b"\n" + request.raw_body


def _take(services: Services, asked: IdempotentRequest) -> IdempotentRequest:
    """The key as ours, or with the answer it holds. Raises Conflict when another request has it."""
    try:
        services.store.write(asked)
        return replace(asked, version=1)
    except WriteConflict:
        pass
    stored = store.request_of(services.store, asked.scope_hash)
    answered = record_to_replay(stored, asked, services.clock()) if stored else None
    if answered is not None:
        return answered
    version = stored.version if stored else 0
    try:
        services.store.write(replace(asked, version=version))
    except WriteConflict:
        raise Conflict("A request with this Idempotency-Key is still running: try again in a moment") from None
    return replace(asked, version=version + 1)


def _keep(services: Services, mine: IdempotentRequest, answer: HttpResponse, is_secret: bool) -> None:
    """Keeps the answer. What was done is done: when keeping fails, the caller still gets it, and the log says so."""
    text = json.dumps([answer.body, dict(answer.headers)], ensure_ascii=is_secret)
    try:
        if is_secret:
            pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
            text = "\n".join(services.secrets.encrypt(piece, _owner(mine)) for piece in pieces)
        services.store.write(replace(mine, status=answer.status, answer=text, is_encrypted=is_secret))
    except WriteConflict:
        services.log.error("an idempotency key outlived its lease", extra={"scope": mine.scope_hash})
    except Exception:  # whichever of AWS failed: a 500 now would make the caller repeat what was done
        services.log.exception("an answer was not kept", extra={"scope": mine.scope_hash})


def _read(services: Services, stored: IdempotentRequest) -> HttpResponse:
    assert stored.status is not None and stored.answer is not None
    text = stored.answer
    if stored.is_encrypted:
        text = "".join(services.secrets.decrypt(piece, _owner(stored)) for piece in text.split("\n"))
    body, headers = json.loads(text)
    return HttpResponse(stored.status, body, {**headers, "Idempotent-Replayed": "true"})


def _owner(stored: IdempotentRequest) -> str:
    """What an answer is encrypted for; the API may decrypt by this prefix, and nothing else (infra/iam.py)."""
    return f"answer#{stored.scope_hash}"
