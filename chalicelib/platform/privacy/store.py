"""Reads data keys."""

from chalicelib.platform.privacy.records import PersonKey
from chalicelib.platform.storage.store import Store


def person_key(store: Store, person_id: str) -> PersonKey | None:
    """The data key of a person, as it is stored; None if it was destroyed. One read."""
    return store.get(PersonKey, PersonKey.KEY.of(person_id=person_id))
