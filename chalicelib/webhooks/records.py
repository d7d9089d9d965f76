"""Stored record: events, which are the outbox."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import lists, place
from chalicelib.base.records import WEBHOOKS, KeyPattern, Record

EVENTS = "EVENT"
"""The kind of the lists of events."""
EVENT_RETENTION = timedelta(days=30)


def message_group(account_id: str, is_public: bool) -> str:
    """The group of messages about a webhook of an account. Those of public webhooks, which anybody can register, have
    one of their own: strangers whose receivers are slow do not hold up the account's deliveries."""
    return f"{account_id}/public" if is_public else account_id


@frozen
class EventVariant:
    """A further form of an event that is delivered, too. `body` is JSON text."""

    kind: str
    body: str


@frozen
class Event(Record):
    """One event of a merchant; `body` is the JSON text that each of its deliveries signs and sends.

    Each of its `variants` is delivered as well, after it: to a webhook with `n` variants, `n + 1` deliveries are made.
    `announced` becomes true when all its deliveries are written; until then the event is in the outbox. `queued_at` is
    when a sweep last queued it; None if none had to. With a `person_id` the body is sealed with the data key of that
    person (webhooks/contents.py), and has no variants.
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
    queued_at: datetime | None = None
    person_id: str | None = None
    version: int = 0

    @property
    def listed(self) -> Mapping[str, str]:
        return lists(self.account_id, EVENTS, {"by_kind": self.kind})

    @property
    def listed_at(self) -> str:
        return place(self.created_at, self.event_id)

    @property
    def next_due(self) -> datetime | None:
        """Until it is announced, from its creation on, and again after each sweep."""
        return None if self.announced else self.queued_at or self.created_at

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created; the payment is kept."""
        return self.created_at + EVENT_RETENTION
