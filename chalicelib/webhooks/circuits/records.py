"""Stored record: the circuit breaker of a webhook."""

from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import WEBHOOKS, KeyPattern, Record
from chalicelib.webhooks.records import message_group

CIRCUIT_RETENTION = timedelta(days=30)
"""As long as the deliveries that may wait for it."""


class CircuitState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@frozen
class Circuit(Record):
    """Whether a webhook answers. While it is open deliveries wait; while it is half open one of them is attempted.

    A webhook without this record is closed and has not failed. `failed_deliveries` are different deliveries that failed
    since `failing_since` without a success in between. `due_at` is the next probe of an open circuit, the end of the
    probe's lease of a half-open one, and the next release of waiting deliveries of a closed one. `is_slow` if its last
    answer took SLOW_ANSWER or longer. `is_notified` if the merchant was sent an event since `failing_since`.
    `is_public` is that of the webhook.
    """

    KEY = KeyPattern(WEBHOOKS, "CIRCUIT#{webhook_id}", "CIRCUIT")
    ARE_FEW = True

    webhook_id: str
    account_id: str
    client_id: str | None
    state: CircuitState
    failed_deliveries: tuple[str, ...]
    failing_since: datetime | None
    failed_probes: int
    closed_at: datetime | None
    due_at: datetime | None
    updated_at: datetime
    is_slow: bool = False
    is_public: bool = False
    is_notified: bool = False

    @property
    def group(self) -> str:
        """The group of its messages, as that of its webhook's deliveries."""
        return message_group(self.account_id, self.is_public)

    @property
    def next_due(self) -> datetime | None:
        """While it is open, its next probe; after it closed, until no delivery waits."""
        return self.due_at

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it last changed."""
        return self.updated_at + CIRCUIT_RETENTION
