"""Reads the audit log of an account."""

from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.storage.store import Store


def entries_before(store: Store, account_id: str, entry_id: str | None, limit: int) -> tuple[AuditEntry, ...]:
    """Up to `limit` entries of an account that are older than `entry_id`, newest first. One read."""
    entries, _ = store.page(AuditEntry, AuditEntry.KEY.partition(account_id=account_id), entry_id, limit)
    return entries
