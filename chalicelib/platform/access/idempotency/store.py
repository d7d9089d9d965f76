"""Reads requests that were sent with an idempotency key."""

from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.storage.store import Store


def request_of(store: Store, scope_hash: str) -> IdempotentRequest | None:
    """The request that is stored for an idempotency key. One read."""
    return store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash))
