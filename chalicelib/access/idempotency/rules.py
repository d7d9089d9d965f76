"""Idempotency keys: a request that is repeated with its key has one effect and gets the same response again.

A key belongs to one credential, method and path. While the first request runs, others get 409; afterwards they get its
response, byte for byte, for a day. The same key with another body is an error of the client (422).
"""

import hashlib
from datetime import datetime, timedelta

from chalicelib.access.idempotency.records import IdempotentRequest
from chalicelib.base.errors import BadRequest, Conflict, Unprocessable

RETENTION = timedelta(hours=24)
LEASE = timedelta(seconds=60)
"""How long a running request holds its key. No request runs that long (29 s at most)."""
MAX_KEY_LENGTH = 255


def begin(scope: str, body: bytes, now: datetime) -> IdempotentRequest:
    """The record of a request that is about to run.

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
    )


def check_key(text: str) -> str:
    """The text of an Idempotency-Key header. Raises BadRequest."""
    if not 1 <= len(text) <= MAX_KEY_LENGTH or not text.isprintable() or not text.isascii():
        raise BadRequest(f"Idempotency-Key must have 1 to {MAX_KEY_LENGTH} printable ASCII characters")
    return text


def scope_hash(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()


def record_to_replay(
    stored: IdempotentRequest, request: IdempotentRequest, now: datetime
) -> IdempotentRequest | None:
    """The stored record if its response is to be sent again; None if the key is free and `request` may run.

    Raises Unprocessable if the body differs, Conflict while the first request is running.
    """
    if now >= stored.expires_at:
        return None
    if stored.body_hash != request.body_hash:
        raise Unprocessable("This Idempotency-Key was used with another body: use a new key for a new request")
    if stored.status is not None:
        return stored
    if now < stored.lease_until:
        raise Conflict("A request with this Idempotency-Key is still running: try again in a moment")
    return None
