"""Endpoints, events and deliveries, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True)
class Endpoint:
    """A webhook. `client_id` None means it hears every event of the account. The secret is stored encrypted."""

    webhook_id: str
    account_id: str
    client_id: str | None
    url: str
    secret_ciphertext: str
    is_active: bool
    created_at: datetime
    version: int = 0


@dataclass(frozen=True)
class EndpointUrl:
    """Holds one URL to one webhook of its client id or account."""

    account_id: str
    client_id: str | None
    url: str
    webhook_id: str
    version: int = 0


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True)
class Delivery:
    """One event on its way to one webhook. `attempt` counts from 0 and is the one that is due or under way.

    `due_at` is when it should be looked at next: the attempt's time, or the end of the lease.
    """

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

@dataclass(frozen=True)
class Event:
    """One thing to tell; `body` is the JSON text that every delivery of it signs and sends.

    `announced` turns true in the transaction that writes the deliveries; until then the event is in the outbox.
    """

    event_id: str
    kind: str
    account_id: str
    client_id: str | None
    body: str
    created_at: datetime
    announced: bool
    version: int = 0
