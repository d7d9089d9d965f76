"""How deliveries are signed: by HMAC in the service's own form, and in that of Standard Webhooks."""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime


def sign(secret: str, body: bytes) -> str:
    """Lower-case hex HMAC-SHA256 of the raw body, 64 characters, no prefix."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def standard_secret(secret: str) -> str:
    """The secret as libraries of Standard Webhooks take it: `whsec_` and the base64 of its bytes, with padding."""
    return "whsec_" + base64.b64encode(secret.encode()).decode()


def own_headers(brands: Iterable[str], secrets: Sequence[str], body: bytes) -> dict[str, str]:
    """`x-<brand>-signature` by the first secret, and `x-<brand>-signature-next` by the second one if there is one.

    A header has one signature, because receivers compare it as it is. So the first is the secret that a receiver has
    had for longer.
    """
    names = ("signature", "signature-next")
    signed = {name: sign(secret, body) for name, secret in zip(names, secrets, strict=False)}
    return {f"x-{brand}-{name}": signature for brand in brands for name, signature in signed.items()}


def standard_headers(message_id: str, secrets: Iterable[str], body: bytes, now: datetime) -> dict[str, str]:
    """`webhook-id`, `webhook-timestamp` and `webhook-signature` with one entry per secret (Standard Webhooks 1.0).

    Receivers refuse a timestamp that is more than five minutes away, so it is that of the attempt. `message_id` has no
    dot, which divides what is signed. Entries are divided by one space: libraries fail at other lists.
    """
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.new(secret.encode(), signed, hashlib.sha256).digest() for secret in secrets)
    entries = [f"v1,{base64.b64encode(digest).decode()}" for digest in digests]
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": " ".join(entries)}
