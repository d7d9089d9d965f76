"""Reads of circuit breakers."""

from chalicelib.platform.storage.store import Store
from chalicelib.webhooks.circuits.records import Circuit


def circuit(store: Store, webhook_id: str) -> Circuit | None:
    """The circuit of a webhook; None if it never failed. One read."""
    return store.get(Circuit, Circuit.KEY.of(webhook_id=webhook_id))
