"""Who is calling: credentials, sessions, limits, idempotency keys, audit entries."""
