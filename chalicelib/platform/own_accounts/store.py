"""Reads of the service's own accounts."""

from chalicelib.platform.own_accounts.records import Senders
from chalicelib.platform.storage.store import Store


def senders(store: Store) -> Senders:
    """All accounts that the service has had. One read."""
    return store.get(Senders, Senders.KEY.of()) or Senders()
