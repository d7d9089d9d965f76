"""Endpoints, events and deliveries, as they are stored."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.records import WEBHOOKS, KeyPattern, Record

EVENT_RETENTION = timedelta(days=30)


@dataclass(frozen=True)
class Endpoint(Record):
    """A webhook. Without a `client_id` it gets every event of the account. The secret is stored encrypted."""

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{owner}", "ENDPOINT#{webhook_id:.64}")

    webhook_id: str
    account_id: str
    client_id: str | None
    url: str
    secret_ciphertext: str
    is_active: bool
    created_at: datetime
    version: int = 0

    @property
    def owner(self) -> str:
        """Whose webhook it is: a client id's, or the account's as a whole."""
        return self.client_id or self.account_id


@dataclass(frozen=True)
class EndpointUrl(Record):
    """Holds one URL to one webhook of its client id or account."""

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{owner}", "URL#{url_hash}")

    account_id: str
    client_id: str | None
    url: str
    webhook_id: str
    version: int = 0

    @property
    def owner(self) -> str:
        """Whose webhook it is: a client id's, or the account's as a whole."""
        return self.client_id or self.account_id

    @property
    def url_hash(self) -> str:
        return hashlib.sha256(self.url.encode()).hexdigest()


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True)
class Delivery(Record):
    """One event on its way to one webhook. `attempt` counts from 0 and is the one that is due or under way.

    `due_at` is when it should be looked at next: the attempt's time, or the end of the lease.
    """

    KEY = KeyPattern(WEBHOOKS, "DELIVERY#{delivery_id}", "DELIVERY")

    delivery_id: str
    webhook_id: str
    account_id: str
    client_id: str | None
    kind: str
    body: str
    is_test: bool
    attempt: int
    state: DeliveryState
    due_at: datetime
    created_at: datetime
    version: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it is neither delivered nor given up."""
        return self.state in (DeliveryState.PENDING, DeliveryState.SENDING)

    @property
    def next_due(self) -> datetime | None:
        """While it is open, when its attempt is due or the lease on it ends."""
        return self.due_at if self.is_open else None

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created."""
        return self.created_at + EVENT_RETENTION


@dataclass(frozen=True)
class Event(Record):
    """One event of a merchant; `body` is the JSON text that each of its deliveries signs and sends.

    `announced` turns true in the transaction that writes the deliveries; until then the event is in the outbox.
    """

    KEY = KeyPattern(WEBHOOKS, "EVENT#{event_id}", "EVENT")

    event_id: str
    kind: str
    account_id: str
    client_id: str | None
    body: str
    created_at: datetime
    announced: bool
    version: int = 0

    @property
    def next_due(self) -> datetime | None:
        """Until it is announced, from its creation on."""
        return None if self.announced else self.created_at

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created; the payment that it is about stays."""
        return self.created_at + EVENT_RETENTION
