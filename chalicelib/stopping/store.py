"""Named reads of the emergency stop."""

from chalicelib.stopping.records import Stop
from chalicelib.storage.store import Store


def current(store: Store) -> Stop | None:
    """The stop, as long as there is one."""
    return store.get(Stop, Stop.KEY.of())
