"""Bans and call counters."""

from chalicelib.access.rate_limits.records import Ban, CallCounter
from chalicelib.access.rate_limits.rules import Window
from chalicelib.storage.store import Store


def ban(store: Store, caller: str) -> Ban | None:
    """The ban of a caller, past or present. One read."""
    return store.get(Ban, Ban.KEY.of(caller=caller))


def count(store: Store, window: Window) -> int | None:
    """Counts one call in a window, exactly, however many race; None when the window is full. One write.

    Raises Throttled when DynamoDB takes no more writes to it: more than a thousand calls a second, or a table that is
    being split.
    """
    return store.count(CallCounter(window.key, window.ends_at), window.limit)


def uncount(store: Store, window: Window) -> None:
    """Takes one count back. One write. Raises Throttled as `count` does."""
    store.uncount(CallCounter(window.key, window.ends_at))
