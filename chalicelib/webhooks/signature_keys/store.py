"""Named reads of the keys of signatures."""

from chalicelib.platform.storage.store import Store
from chalicelib.webhooks.signature_keys.records import SignatureKeys


def signature_keys(store: Store) -> SignatureKeys:
    """The keys of the service; a new record (version 0) without any if there is none. One read."""
    return store.get(SignatureKeys, SignatureKeys.KEY.of()) or SignatureKeys()
