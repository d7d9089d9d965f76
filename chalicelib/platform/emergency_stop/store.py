"""Named reads of the emergency stop."""

from chalicelib.platform.emergency_stop.records import Stop
from chalicelib.platform.storage.store import Store


def current(store: Store) -> Stop | None:
    """The stop, as long as there is one."""
    return store.get(Stop, Stop.KEY.of())
