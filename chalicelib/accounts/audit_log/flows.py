"""Reads the audit log of an account, newest entry first."""

from chalicelib.platform.access.audit import store as audit_store
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.audit.rules import cursor_after, entry_id_of
from chalicelib.platform.services import Services


def page(
    services: Services, account_id: str, cursor: str | None, limit: int
) -> tuple[tuple[AuditEntry, ...], str | None]:
    """Up to `limit` entries after the cursor, and the cursor of the next page, if any. Raises BadRequest."""
    entry_id = entry_id_of(cursor) if cursor is not None else None
    entries = audit_store.entries_before(services.store, account_id, entry_id, limit + 1)
    on_page = entries[:limit]
    return on_page, cursor_after(on_page[-1]) if len(entries) > limit else None
