"""The branding of client ids."""

from chalicelib.accounts.branding.records import ClientBranding
from chalicelib.storage.store import Store


def branding(store: Store, client_id_hash: str) -> ClientBranding | None:
    """The branding of a client id, by its hash. One read."""
    return store.get(ClientBranding, ClientBranding.KEY.of(client_id_hash=client_id_hash))
