"""The audit log of an account."""

from chalicelib.access.audit.records import AuditEntry
from chalicelib.storage.store import Store


def entries_before(store: Store, account_id: str, entry_id: str | None, limit: int) -> tuple[AuditEntry, ...]:
    """Up to `limit` entries of an account, the newest first, from the one before `entry_id` on. One read."""
    found, _ = store.page(AuditEntry, AuditEntry.KEY.partition(account_id=account_id), entry_id, limit)
    return found
