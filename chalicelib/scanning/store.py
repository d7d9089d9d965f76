"""Reads of cursors, and of the recorded transfers that a fork could remove."""

from chalicelib.detection.records import Cursor, UnfinalizedTransfer
from chalicelib.storage.store import Store


def cursor(store: Store, network: str) -> Cursor | None:
    """The cursor of a network; None before its first scan. One read."""
    return store.get(Cursor, Cursor.KEY.of(network=network))


def unfinalized_transfers(store: Store, network: str, first_block: int) -> tuple[UnfinalizedTransfer, ...]:
    """The recorded transfers of a network's blocks from `first_block` on, in block order. One query."""
    keys = UnfinalizedTransfer.KEY.starting(network=network, block_number=first_block)
    return store.query(UnfinalizedTransfer, keys)
