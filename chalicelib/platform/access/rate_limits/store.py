"""Reads bans and counts calls."""

from collections.abc import Sequence

from chalicelib.platform.access.rate_limits.records import Ban, CallCounter
from chalicelib.platform.access.rate_limits.rules import Window
from chalicelib.platform.storage.store import Store


def ban(store: Store, caller: str) -> Ban | None:
    """The last ban of a caller, also if it has ended. One read."""
    return store.get(Ban, Ban.KEY.of(caller=caller))


def count_in_each(store: Store, windows: Sequence[Window]) -> list[int | None]:
    """`count` of one call in several windows, at the same time. One write each."""
    return store.count_in_each([(CallCounter(each.key, each.ends_at), each.limit) for each in windows])


def count(store: Store, window: Window, units: int = 1) -> int | None:
    """Counts calls or units in a window, exactly, however many race. One write.

    Returns the count; None if they do not fit, and then counts nothing.

    Raises Throttled if DynamoDB accepts no more writes to the counter, as with more than 1,000 calls a second or while
    it splits the table.
    """
    return store.count(CallCounter(window.key, window.ends_at), window.limit, units)


def uncount(store: Store, window: Window, units: int = 1) -> None:
    """Takes calls or units back. One write. Raises Throttled as `count` does."""
    store.uncount(CallCounter(window.key, window.ends_at), units)
