"""What a stored record says of itself: its table and key, when it is due, when it vanishes."""

from dataclasses import dataclass

PAYMENTS, IDENTITY, SESSIONS, WEBHOOKS, OPS = "payments", "identity", "sessions", "webhooks", "ops"


@dataclass(frozen=True)
class Key:
    table: str
    pk: str
    sk: str
