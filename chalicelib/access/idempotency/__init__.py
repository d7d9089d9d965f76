"""Idempotency keys: one effect, one response."""
