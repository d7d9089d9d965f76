"""Reads bans and counts calls."""

from chalicelib.access.rate_limits.records import Ban, CallCounter
from chalicelib.access.rate_limits.rules import Window
from chalicelib.storage.store import Store


def ban(store: Store, caller: str) -> Ban | None:
    """The last ban of a caller, also if it has ended. One read."""
    return store.get(Ban, Ban.KEY.of(caller=caller))


def count(store: Store, window: Window) -> int | None:
    """Counts one call in a window, exactly, however many race; returns None if the window is full. One write.

    Raises Throttled if DynamoDB accepts no more writes to the counter, as with more than 1,000 calls a second or while
    it splits the table.
    """
    return store.count(CallCounter(window.key, window.ends_at), window.limit)


def uncount(store: Store, window: Window) -> None:
    """Takes one count back. One write. Raises Throttled as `count` does."""
    store.uncount(CallCounter(window.key, window.ends_at))
