"""Idempotency keys: a request that is repeated with its key has one effect and gets the same response again.

A key belongs to one `Caller.key_scope` and one operation with its parameters, however the path is written. While the
first request runs, others get 409; afterwards they get its response, byte for byte, for a day. The same key with
another body is an error of the client (422).
"""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

from chalicelib.base.errors import BadRequest, Conflict, Unprocessable
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.idempotency.records import IdempotentRequest

RETENTION = timedelta(hours=24)
LEASE = timedelta(seconds=60)
"""How long a running request holds its key after each transaction. No request runs that long (29 s at most)."""
MAX_KEY_LENGTH = 255
STILL_RUNNING = "A request with this Idempotency-Key is still running: try again in a moment"
RESPONSE_LOST = (
    "The request with this Idempotency-Key took effect, wholly or in part, and its response was lost: read what it "
    "made or changed before you send a new request"
)


def begin(scope: str, body: bytes, now: datetime, nonce: str) -> IdempotentRequest:
    """The record of a request that is about to run; `nonce` is random.

    The hash of the body includes the scope, and with it the idempotency key, which is not stored. Otherwise a reader of
    the table could guess passwords in the bodies of logins by their SHA-256.
    """
    return IdempotentRequest(
        scope_hash=scope_hash(scope),
        body_hash=hashlib.sha256(scope.encode() + b"\n" + body).hexdigest(),
        lease_until=now + LEASE,
        expires_at=now + RETENTION,
        status=None,
        answer=None,
        is_encrypted=False,
        started_at=now - timedelta(microseconds=now.microsecond % 1000),  # as it is stored
        nonce=nonce,
    )


def entropy_of(scope: str, body: bytes, nonce: str) -> Entropy:
    """The random bytes of a request, which are the same whenever it is run again with the same nonce.

    A request that makes API keys, session tokens or webhook secrets needs a nonce that readers of the table do not
    have: they might guess the rest, as an idempotency key may be `order-1` and a client id is public.
    """
    seed = hashlib.sha256(f"{scope}\n{nonce}".encode() + b"\n" + body).digest()
    calls = count()
    return lambda length: hashlib.shake_256(seed + next(calls).to_bytes(8, "big")).digest(length)


def check_key(text: str) -> str:
    """The text of an Idempotency-Key header. Raises BadRequest."""
    if not 1 <= len(text) <= MAX_KEY_LENGTH or not text.isprintable() or not text.isascii():
        raise BadRequest(f"Idempotency-Key must have 1 to {MAX_KEY_LENGTH} printable ASCII characters")
    return text


def scope_hash(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()


def take_key(stored: IdempotentRequest, request: IdempotentRequest, now: datetime) -> IdempotentRequest:
    """The record with which `request` takes a stored key, or the stored record if it has the response to repeat.

    After the lease, a request that has made transactions is resumed with its start, nonce and steps; one that has made
    none starts anew. Raises Unprocessable if the body differs, Conflict while the stored request is running.
    """
    anew = replace(request, version=stored.version)
    if now >= stored.expires_at:
        return anew
    if stored.body_hash != request.body_hash:
        raise Unprocessable("This Idempotency-Key was used with another body: use a new key for a new request")
    if stored.status is not None:
        return stored
    if now < stored.lease_until:
        raise Conflict(STILL_RUNNING)
    return replace(stored, lease_until=request.lease_until) if stored.steps else anew
