"""Verifies that a webhook is from this service."""

import hashlib
import hmac


def is_genuine(body: bytes, signature: str, secret: str) -> bool:
    """Whether a webhook is from this service: its body as it was received, and the header x-service-signature."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())
