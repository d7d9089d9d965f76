"""Reads changes that wait."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from chalicelib.accounts.changes.records import ChangeState, OpenChanges, PendingChange
from chalicelib.accounts.changes.rules import Step
from chalicelib.base.records import Key, Record
from chalicelib.platform.storage.store import Delete, Store, Unchanged, Write


def change(store: Store, account_id: str, change_id: str) -> PendingChange | None:
    """One read."""
    return store.get(PendingChange, PendingChange.KEY.of(account_id=account_id, change_id=change_id))


def at(store: Store, key: Key) -> PendingChange | None:
    """The change with a key of `due`. One read."""
    return store.get(PendingChange, key)


def changes_before(store: Store, account_id: str, change_id: str | None, limit: int) -> tuple[PendingChange, ...]:
    """Up to `limit` changes of an account that are older than `change_id`, newest first. One read."""
    return store.page(PendingChange, PendingChange.KEY.partition(account_id=account_id), change_id, limit)[0]


def open_of(store: Store, account_id: str, asker: str) -> OpenChanges:
    """The changes that an asker has open; a new record (version 0) if there is none. Two reads."""
    key = OpenChanges.KEY.of(account_id=account_id, asker=asker)
    known = store.get(OpenChanges, key) or OpenChanges(account_id, asker)
    keys = [PendingChange.KEY.of(account_id=account_id, change_id=each) for each in known.change_ids]
    found = store.get_many(dict.fromkeys(keys, PendingChange)).values()
    still_open = tuple(each.change_id for each in found if each.state is ChangeState.PENDING)
    return replace(known, change_ids=still_open)


def steps_of(store: Store, writes: Iterable[Write]) -> list[Step]:
    """What a transaction does to records whose kind can redirect money. One read, if it changes any."""
    records = [each for each in writes if isinstance(each, Record) and type(each).redirects is not Record.redirects]
    before = store.get_many({each.key: type(each) for each in records if each.version})
    deleted = [(each.record, None) for each in writes if isinstance(each, Delete)]
    return [*deleted, *((before.get(each.key), each) for each in records)]


def require_unchanged(records: Iterable[Record], writes: Iterable[Write]) -> list[Unchanged]:
    """Requires of a transaction that these records are as they were read, but those that it writes itself."""
    written = {each.key if isinstance(each, Record) else each.record.key for each in writes}
    known = {each.key: each for each in records}
    return [Unchanged(each) for key, each in known.items() if key not in written]


def due(store: Store, before: datetime, limit: int, first_shard: int) -> Iterator[Key]:
    """Keys of changes whose time has come. One query per shard."""
    return store.due(PendingChange, before, limit, first_shard)
