"""Circuit breakers: which webhooks do not answer, and when they are tried again."""
