"""Reads of webhooks."""

from chalicelib.storage.store import Store
from chalicelib.webhooks.endpoints.records import Endpoint, EndpointUrl, Registrations


def endpoints(store: Store, account_id: str, client_id: str | None) -> tuple[Endpoint, ...]:
    """The webhooks of a client id, or of the account as a whole, oldest first. One query."""
    return store.query(Endpoint, Endpoint.KEY.all(owner=client_id or account_id))


def endpoint(store: Store, account_id: str, client_id: str | None, webhook_id: str) -> Endpoint | None:
    """One webhook of a client id, or of the account as a whole. One read."""
    return store.get(Endpoint, Endpoint.KEY.of(owner=client_id or account_id, webhook_id=webhook_id))


def url_of(store: Store, endpoint: Endpoint) -> EndpointUrl | None:
    """The record that makes the URL of a webhook unique. One read."""
    url_record = EndpointUrl(endpoint.account_id, endpoint.client_id, endpoint.url, endpoint.webhook_id)
    return store.get(EndpointUrl, url_record.key)


def is_taken(store: Store, url_record: EndpointUrl) -> bool:
    """Whether the owner or, for a client id, its account has a webhook with this URL. One read."""
    platform = EndpointUrl(url_record.account_id, None, url_record.url, url_record.webhook_id)
    return bool(store.get_many({url_record.key: EndpointUrl, platform.key: EndpointUrl}))


def registrations(store: Store, owner: str) -> Registrations:
    """The record that orders the registrations of an owner; a new one (version 0) if there is none. One read."""
    return store.get(Registrations, Registrations.KEY.of(owner=owner)) or Registrations(owner)
