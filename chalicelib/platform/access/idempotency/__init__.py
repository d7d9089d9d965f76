"""Idempotency keys: a repeated request has one effect and gets the same response."""
