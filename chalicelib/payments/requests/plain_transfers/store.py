"""Reads of the addresses whose transfers are watched."""

from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, KeyRange
from chalicelib.payments.requests.plain_transfers.records import WatchedAddress
from chalicelib.platform.storage.store import Store


def list_watched(store: Store, network: str) -> tuple[WatchedAddress, ...]:
    """All addresses of a network that are watched. One query for each MB, which is about 2,500 of them."""
    partition = WatchedAddress.KEY.partition(network=network)
    return store.query(WatchedAddress, KeyRange(WatchedAddress.KEY.table, partition, FIRST_SORT_KEY, LAST_SORT_KEY))
