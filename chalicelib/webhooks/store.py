"""Reads of webhooks, events and deliveries."""

from collections.abc import Iterator
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.storage.store import Store
from chalicelib.webhooks.records import Delivery, Endpoint, EndpointUrl, Event


@frozen
class Overdue:
    """The id of an overdue event or delivery."""

    kind: type[Event] | type[Delivery]
    record_id: str


def endpoints(store: Store, account_id: str, client_id: str | None) -> tuple[Endpoint, ...]:
    """The webhooks of a client id, or of the account as a whole, oldest first. One query."""
    return store.query(Endpoint, Endpoint.KEY.all(owner=client_id or account_id))


def endpoint(store: Store, account_id: str, client_id: str | None, webhook_id: str) -> Endpoint | None:
    """One webhook of a client id, or of the account as a whole. One read."""
    return store.get(Endpoint, Endpoint.KEY.of(owner=client_id or account_id, webhook_id=webhook_id))


def endpoint_of(store: Store, delivery: Delivery) -> Endpoint | None:
    """The webhook of a delivery; None if it was deleted. One read."""
    return endpoint(store, delivery.account_id, delivery.client_id, delivery.webhook_id)


def url_of(store: Store, endpoint: Endpoint) -> EndpointUrl | None:
    """The record that makes the URL of a webhook unique. One read."""
    url_record = EndpointUrl(endpoint.account_id, endpoint.client_id, endpoint.url, endpoint.webhook_id)
    return store.get(EndpointUrl, url_record.key)


def event(store: Store, event_id: str) -> Event | None:
    """One read."""
    return store.get(Event, Event.KEY.of(event_id=event_id))


def delivery(store: Store, delivery_id: str) -> Delivery | None:
    """One read."""
    return store.get(Delivery, Delivery.KEY.of(delivery_id=delivery_id))


def overdue(store: Store, before: datetime, limit: int) -> Iterator[Overdue]:
    """Events and deliveries that were due before `before`, at most `limit` per shard. One query per shard."""
    for key in store.due(Event, before, limit):  # deliveries share table and shards with events
        _, _, record_id = key.pk.partition("#")
        yield Overdue(Event if key.sk == Event.KEY.kind else Delivery, record_id)
