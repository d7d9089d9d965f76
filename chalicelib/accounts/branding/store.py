"""Reads the branding of client ids."""

from chalicelib.accounts.branding.records import PageBranding
from chalicelib.platform.storage.store import Store


def branding(store: Store, client_id_hash: str) -> PageBranding | None:
    """The branding of a client id, by its hash. One read."""
    return store.get(PageBranding, PageBranding.KEY.of(client_id_hash=client_id_hash))
