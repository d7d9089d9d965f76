"""Reads the audit log of an account, and of all accounts what their owners are to be told of."""

from collections.abc import Sequence
from datetime import datetime

from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.storage.store import Store


def entries_before(store: Store, account_id: str, entry_id: str | None, limit: int) -> tuple[AuditEntry, ...]:
    """Up to `limit` entries of an account that are older than `entry_id`, newest first. One read."""
    entries, _ = store.page(AuditEntry, AuditEntry.KEY.partition(account_id=account_id), entry_id, limit)
    return entries


def find_entries(store: Store, account_id: str, entry_ids: Sequence[str]) -> tuple[AuditEntry, ...]:
    """The entries of an account with these ids that exist, in this order. One read for a hundred."""
    keys = [AuditEntry.KEY.of(account_id=account_id, entry_id=each) for each in entry_ids]
    found = store.get_many(dict.fromkeys(keys, AuditEntry))
    return tuple(found[key] for key in keys if key in found)


def to_tell(store: Store, since: datetime, before: datetime, limit: int, first_shard: int) -> dict[str, list[str]]:
    """Accounts, and the ids of their entries since `since` that their owners are to be told of, the oldest first.

    At most `limit` entries per shard. One query per shard, and per 1 MB, which is some thousand entries.
    """
    found = dict[str, list[str]]()
    for key in store.due(AuditEntry, before, limit, first_shard, since):
        found.setdefault(key.pk.partition("#")[2], []).append(key.sk)
    return found
