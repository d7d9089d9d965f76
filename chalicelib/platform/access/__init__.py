"""Who is calling: credentials, sessions, rate limits, idempotency keys, audit entries."""
