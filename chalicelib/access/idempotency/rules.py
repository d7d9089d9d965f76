"""Idempotency keys: a request that is repeated under its key has one effect and gets the same answer again.

A key belongs to one credential, method and path. While the first request runs, others are told to wait; afterwards they
get its answer, byte for byte, for a day. The same key with another body is a mistake of the client.
"""

import hashlib
from datetime import datetime, timedelta

from chalicelib.access.idempotency.records import IdempotentRequest
from chalicelib.base.errors import BadRequest, Conflict, Unprocessable

KEPT = timedelta(hours=24)
LEASE = timedelta(seconds=60)
"""How long a running request keeps its key; longer than any request may run (29 s)."""
MAX_KEY_LENGTH = 255


def begin(scope: str, body: bytes, now: datetime) -> IdempotentRequest:
    """The record of a request that is about to run.

    The hash of the body takes in the key, which is stored nowhere: a login's body holds a password, and its plain
    SHA-256 would let whoever reads the table guess at that.
    """
    return IdempotentRequest(
        scope_hash=scope_hash(scope),
        body_hash=hashlib.sha256(scope.encode() + b"\n" + body).hexdigest(),
        lease_until=now + LEASE,
        expires_at=now + KEPT,
        status=None,
        answer=None,
        is_encrypted=False,
    )


def check_key(text: str) -> str:
    if not 1 <= len(text) <= MAX_KEY_LENGTH or not text.isprintable() or not text.isascii():
        raise BadRequest(f"Idempotency-Key must have 1 to {MAX_KEY_LENGTH} printable ASCII characters")
    return text


def scope_hash(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()


def judge(stored: IdempotentRequest, asked: IdempotentRequest, now: datetime) -> IdempotentRequest | None:
    """The stored record when its answer is to be given again; None when the key is free again and `asked` may run.

    Raises Unprocessable for another body, Conflict while the first request is running.
    """
    if now >= stored.expires_at:
        return None
    if stored.body_hash != asked.body_hash:
        raise Unprocessable("This Idempotency-Key was used with another body: use a new key for a new request")
    if stored.status is not None:
        return stored
    if now < stored.lease_until:
        raise Conflict("A request with this Idempotency-Key is still running: try again in a moment")
    return None
