"""Stored records: deliveries with their attempts, and the lists in which a webhook's deliveries are found."""

import hashlib
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import WEBHOOKS, KeyPattern, Record
from chalicelib.webhooks.records import BODY, EVENT_RETENTION, message_group

LIST_SHARDS = 4
"""The number of partitions of a list, which share the writes of a busy webhook."""


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Listing(StrEnum):
    ALL = "ALL"
    WAITING = "WAITING"
    FAILED = "FAILED"


@frozen
class Attempt:
    """One request to a receiver: `status` of its response, or `error`, and the beginning of the response's body."""

    at: datetime
    status: int | None
    error: str | None
    answer: str
    duration_ms: int


@frozen
class ListEntry(Record):
    """Index entry: a delivery of a webhook, in the list of all, or while it waits or has failed in a list of those."""

    KEY = KeyPattern(WEBHOOKS, "DELIVERIES#{webhook_id}#{listing}#{shard}", "{delivery_id}")

    webhook_id: str
    listing: Listing
    delivery_id: str
    created_at: datetime

    @property
    def shard(self) -> int:
        return hashlib.sha256(self.delivery_id.encode()).digest()[0] % LIST_SHARDS

    @property
    def vanishes_at(self) -> datetime:
        """With its delivery."""
        return self.created_at + EVENT_RETENTION


@frozen
class Delivery(Record):
    """The delivery of one event to one webhook. `attempt` counts from 0 and is the attempt that is due or in progress.

    `due_at` is the time of the attempt. While a worker has claimed it, `leased_until` is its end, in shape 1
    `due_at`: a claim that changed that would write the index, too. `trying_since` is when the first attempt began, or
    when the delivery first waited for a webhook that does not answer. `attempts` are the newest ones that ended. With a
    `person_id` the body is sealed, as that of its event. `is_public` is that of its webhook. `event_id` is None in
    those that were stored without one.
    """

    KEY = KeyPattern(WEBHOOKS, "DELIVERY#{delivery_id:.64}", "DELIVERY")
    SCHEMA = 2

    delivery_id: str
    webhook_id: str
    account_id: str
    client_id: str | None
    kind: str
    body: str = field(metadata=BODY)
    is_test: bool
    attempt: int
    state: DeliveryState
    due_at: datetime
    created_at: datetime
    trying_since: datetime | None = None
    attempts: tuple[Attempt, ...] | None = None
    person_id: str | None = None
    is_public: bool = False
    leased_until: datetime | None = None
    event_id: str | None = None

    @property
    def lease_end(self) -> datetime:
        """Until when a claimed attempt belongs to its worker."""
        return self.leased_until or self.due_at

    @property
    def group(self) -> str:
        """The group of its messages, by which SQS shares the workers."""
        return message_group(self.account_id, self.is_public)

    @property
    def is_open(self) -> bool:
        """Whether the delivery is neither delivered nor failed."""
        return self.state not in (DeliveryState.DELIVERED, DeliveryState.FAILED)

    @property
    def next_due(self) -> datetime | None:
        """While it is pending or sent, when its attempt is due. Its circuit is due while it waits."""
        return self.due_at if self.state in (DeliveryState.PENDING, DeliveryState.SENDING) else None

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created."""
        return self.created_at + EVENT_RETENTION

    @property
    def entries(self) -> tuple[ListEntry, ...]:
        """The delivery's entries in lists, which are written in the transaction that writes the delivery in this
        state."""
        listings = [Listing.ALL]
        if self.state is DeliveryState.WAITING:
            listings.append(Listing.WAITING)
        elif self.state is DeliveryState.FAILED:
            listings.append(Listing.FAILED)
        return tuple(ListEntry(self.webhook_id, each, self.delivery_id, self.created_at) for each in listings)
