"""Runs a request with an Idempotency-Key once, and repeats its response."""

import json
from collections.abc import Callable
from dataclasses import replace

from chalicelib.base.errors import Conflict
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.idempotency.flows import Journal, claim
from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.idempotency.rules import RESPONSE_LOST, STILL_RUNNING, begin, check_key, entropy_of
from chalicelib.platform.http.request import CHANGING, HttpRequest
from chalicelib.platform.http.responses import HttpResponse, error_response
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict

_PIECE = 4_096  # bytes; KMS encrypts no more in one call


def run_once(
    services: Services,
    caller: Caller,
    request: HttpRequest,
    shows_secret: bool,
    run: Callable[[Services], HttpResponse],
) -> HttpResponse:
    """Runs the request, or returns the stored response if its Idempotency-Key was used before.

    `run` is given the services of `Journal.services`, with which no transaction is made twice. Stored are
    successes, refusals of what has made a transaction that is not undone, and those that are final. Other refusals,
    status 429 and those from 500 up are not: the request can be sent again, and is resumed if it made something.
    Responses that show a secret or set a cookie are stored encrypted, and so is the nonce that secrets are made from.
    Raises Conflict while another process holds the key.
    """
    text = request.headers.get("idempotency-key")
    if text is None or request.method not in CHANGING:
        return run(services)
    scope = "\n".join((caller.key_scope, request.method, request.canonical_path, check_key(text)))
    content = _content(request)
    begun = begin(scope, content, services.clock(), services.entropy(16).hex())
    if shows_secret:
        begun = replace(begun, nonce=services.secrets.encrypt(begun.nonce, _owner(begun)))
    record = claim(services, begun)
    if record.status is not None:
        return _replay(services, record)
    journal = Journal(services, record)
    try:
        nonce = services.secrets.decrypt(record.nonce, _owner(record)) if shows_secret else record.nonce
        response = run(journal.services(entropy_of(scope, content, nonce)))
    except BaseException:
        journal.release()
        raise
    if response.status >= 500 or response.status == 429:
        journal.release()
        return response
    is_refusal = response.status >= 400
    if response.is_undone or (is_refusal and not (response.is_final or journal.record.steps)):
        if not journal.release(is_undone=response.is_undone):
            raise Conflict(STILL_RUNNING)
        return response
    if journal.is_response_lost(is_error=is_refusal):
        response = error_response(Conflict(RESPONSE_LOST))
    is_secret = response.status < 400 and (shows_secret or "Set-Cookie" in response.headers)
    _store_response(services, journal.record, response, is_secret)
    return response


def _content(request: HttpRequest) -> bytes:
    """The parts that a repeated request must have in common: the body, and the query if there is one."""
    query = json.dumps(sorted(request.query.items())).encode() if request.query else b""
    return query + b"\n" + request.raw_body


def _store_response(services: Services, record: IdempotentRequest, response: HttpResponse, is_secret: bool) -> None:
    """Stores the response. A failure is only logged: the request took effect, and the caller needs the response.

    Raises Conflict if another process has taken the key after the lease: its response counts.
    """
    text = json.dumps([response.body, dict(response.headers)], ensure_ascii=is_secret)
    try:
        if is_secret:
            pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
            text = "\n".join(services.secrets.encrypt(piece, _owner(record)) for piece in pieces)
        services.store.write(replace(record, status=response.status, answer=text, is_encrypted=is_secret))
    except WriteConflict:
        services.log.error("request ran longer than its idempotency lease", extra={"scope": record.scope_hash})
        raise Conflict(STILL_RUNNING) from None
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
    """The owner that both are encrypted for. The API may decrypt only what has this prefix (infra/iam.py)."""
    return f"answer#{stored.scope_hash}"
