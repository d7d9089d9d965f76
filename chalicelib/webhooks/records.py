"""Stored records: webhook endpoints, events and deliveries."""

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import WEBHOOKS, KeyPattern, Record

EVENT_RETENTION = timedelta(days=30)


@frozen
class Endpoint(Record):
    """A webhook. Without a `client_id` it receives every event of the account. The secret is stored encrypted."""

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
        """The client id, or the account id if the webhook is the account's."""
        return self.client_id or self.account_id


@frozen
class EndpointUrl(Record):
    """Makes a URL unique among the webhooks of a client id or account."""

    KEY = KeyPattern(WEBHOOKS, "SCOPE#{owner}", "URL#{url_hash}")

    account_id: str
    client_id: str | None
    url: str
    webhook_id: str
    version: int = 0

    @property
    def owner(self) -> str:
        """The client id, or the account id if the webhook is the account's."""
        return self.client_id or self.account_id

    @property
    def url_hash(self) -> str:
        return hashlib.sha256(self.url.encode()).hexdigest()


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


@frozen
class Delivery(Record):
    """The delivery of one event to one webhook. `attempt` counts from 0 and is the attempt that is due or in progress.

    `due_at` is the time of the attempt, or the end of its lease.
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
        """Whether it is neither delivered nor failed."""
        return self.state in (DeliveryState.PENDING, DeliveryState.SENDING)

    @property
    def next_due(self) -> datetime | None:
        """While it is open, when its attempt is due or its lease ends."""
        return self.due_at if self.is_open else None

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created."""
        return self.created_at + EVENT_RETENTION


@frozen
class EventVariant:
    """A further form of an event that is delivered, too. `body` is JSON text."""

    kind: str
    body: str


@frozen
class Event(Record):
    """One event of a merchant; `body` is the JSON text that each of its deliveries signs and sends.

    Each of its `variants` is delivered as well, after it: to a webhook with `n` variants, `n + 1` deliveries are made.
    `announced` becomes true in the transaction that writes the deliveries; until then the event is in the outbox.
    """

    KEY = KeyPattern(WEBHOOKS, "EVENT#{event_id}", "EVENT")

    event_id: str
    kind: str
    account_id: str
    client_id: str | None
    body: str
    created_at: datetime
    announced: bool
    variants: tuple[EventVariant, ...] = ()
    version: int = 0

    @property
    def next_due(self) -> datetime | None:
        """Until it is announced, from its creation on."""
        return None if self.announced else self.created_at

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created; the payment is kept."""
        return self.created_at + EVENT_RETENTION
