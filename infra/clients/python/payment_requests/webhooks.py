"""Verifies webhooks, in the form of Standard Webhooks."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import cast

from payment_requests.errors import InvalidSignature
from payment_requests.models import WebhookEvent

TOLERANCE = 300
"""By how many seconds the time of an attempt may differ from the clock."""


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, *, now: float | None = None) -> WebhookEvent:
    """The event that a webhook tells of. Raises InvalidSignature if it is not from the service, or not of now.

    `body` is what was received, before anything parses it; `secret` is `secret` or `standardSecret`, as it was returned
    once. A delivery may come twice: its id is the header `webhook-id`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in ("webhook-id", "webhook-timestamp", "webhook-signature") if name not in sent]
    if missing:
        raise InvalidSignature(f"the header {missing[0]} is missing")
    timestamp = sent["webhook-timestamp"]
    if not timestamp.isdecimal() or abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        raise InvalidSignature("the webhook is not of now")
    signed = f"{sent['webhook-id']}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(_key_of(secret), signed, hashlib.sha256).digest())
    entries = [each.partition(",") for each in sent["webhook-signature"].split()]
    given = [value.encode() for version, _, value in entries if version == "v1"]
    if not any(hmac.compare_digest(expected, each) for each in given):
        raise InvalidSignature("no signature of the webhook is by this secret")
    return cast("WebhookEvent", json.loads(body))


def _key_of(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
