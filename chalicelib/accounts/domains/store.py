"""Reads the domains of client ids."""

from collections.abc import Iterator
from datetime import datetime

from chalicelib.accounts.branding.records import PageBranding
from chalicelib.accounts.domains.records import PageDomain
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.storage.store import Store


def find_domain(store: Store, client_id_hash: str) -> PageDomain | None:
    """The domain of a client id, by its hash. One read."""
    return store.get(PageDomain, PageDomain.KEY.of(client_id_hash=client_id_hash))


def of_page(
    store: Store, client_id_hash: str
) -> tuple[PageBranding | None, PageDomain | None, ClientId | None]:
    """What the page of a link shows of its client id; the client id itself, by a second read, if it has a domain."""
    branding = PageBranding.KEY.of(client_id_hash=client_id_hash)
    domain = PageDomain.KEY.of(client_id_hash=client_id_hash)
    found = store.get_many({branding: PageBranding, domain: PageDomain})
    client = store.get(ClientId, ClientId.KEY.of(credential_hash=client_id_hash)) if domain in found else None
    return found.get(branding), found.get(domain), client


def due(store: Store, before: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """The hashes of the client ids whose domain is due, at most `limit` per shard. One query per shard."""
    for key in store.due(PageDomain, before, limit, first_shard):
        yield key.pk.partition("#")[2]
