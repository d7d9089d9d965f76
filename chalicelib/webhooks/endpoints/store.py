"""Reads of webhooks."""

from collections.abc import Iterable
from dataclasses import replace

from chalicelib.base.records import Key
from chalicelib.platform.storage.store import Store
from chalicelib.webhooks.endpoints.records import ClientEndpoint, Endpoint, EndpointUrl, Registrations


def endpoints(store: Store, account_id: str, client_id: str | None) -> tuple[Endpoint, ...]:
    """The webhooks of a client id, or of the account as a whole, oldest first. One query."""
    return store.query(Endpoint, Endpoint.KEY.all(owner=client_id or account_id))


def find_endpoint(store: Store, account_id: str, client_id: str | None, webhook_id: str) -> Endpoint | None:
    """One webhook of a client id, or of the account as a whole. One read."""
    return store.get(Endpoint, Endpoint.KEY.of(owner=client_id or account_id, webhook_id=webhook_id))


def endpoints_of_all(store: Store, account_id: str) -> tuple[Endpoint, ...]:
    """The webhooks of an account as a whole and of its client ids, oldest first. Two queries, and one read per 100."""
    entries = store.query(ClientEndpoint, ClientEndpoint.KEY.all(account_id=account_id))
    of_clients = store.get_many({_key_of(entry): Endpoint for entry in entries})
    found = (*endpoints(store, account_id, None), *of_clients.values())
    return tuple(sorted(found, key=lambda each: each.webhook_id))


def endpoint_of_any(store: Store, account_id: str, webhook_id: str) -> Endpoint | None:
    """One webhook of an account as a whole or of one of its client ids. One read or two."""
    own = Endpoint.KEY.of(owner=account_id, webhook_id=webhook_id)
    key = ClientEndpoint.KEY.of(account_id=account_id, webhook_id=webhook_id)
    found = store.get_many({own: Endpoint, key: ClientEndpoint})
    entry = found.get(key)
    return store.get(Endpoint, _key_of(entry)) if isinstance(entry, ClientEndpoint) else found.get(own)


def entry_of(store: Store, endpoint: Endpoint) -> ClientEndpoint | None:
    """The index entry of a webhook of a client id; None if it has none. One read."""
    key = ClientEndpoint.KEY.of(account_id=endpoint.account_id, webhook_id=endpoint.webhook_id)
    return store.get(ClientEndpoint, key)


def url_of(store: Store, endpoint: Endpoint) -> EndpointUrl | None:
    """The record that makes the URL of a webhook unique. One read."""
    return store.get(EndpointUrl, url_records(endpoint)[0].key)


def url_records(endpoint: Endpoint) -> tuple[EndpointUrl, ...]:
    """The record that makes the URL of a webhook unique; of one of a client id, unless it is public, also that of the
    account as a whole, which may not be there beside it."""
    own = EndpointUrl(
        endpoint.account_id, endpoint.client_id, endpoint.url, endpoint.webhook_id, is_public=endpoint.is_public
    )
    if endpoint.client_id is None or endpoint.is_public:
        return (own,)
    return own, replace(own, client_id=None)


def is_taken(store: Store, records: Iterable[EndpointUrl]) -> bool:
    """Whether there is a webhook with one of these records. One read."""
    return bool(store.get_many({each.key: EndpointUrl for each in records}))


def registrations(store: Store, owner: str) -> Registrations:
    """The record that orders the registrations of an owner; a new one (version 0) if there is none. One read."""
    return store.get(Registrations, Registrations.KEY.of(owner=owner)) or Registrations(owner)


def _key_of(entry: ClientEndpoint) -> Key:
    return Endpoint.KEY.of(owner=entry.client_id, webhook_id=entry.webhook_id)
