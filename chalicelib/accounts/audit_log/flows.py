"""The audit log of an account, newest line first."""

from chalicelib.access.audit import store
from chalicelib.access.audit.records import AuditEntry
from chalicelib.access.audit.rules import cursor_after, position_of
from chalicelib.services import Services


def page(
    services: Services, account_id: str, cursor: str | None, limit: int
) -> tuple[tuple[AuditEntry, ...], str | None]:
    """Up to `limit` lines below the cursor, and the cursor of the next page when there is one. Raises BadRequest."""
    before = position_of(cursor) if cursor is not None else None
    found = store.entries_before(services.store, account_id, before, limit + 1)
    shown = found[:limit]
    return shown, cursor_after(shown[-1]) if len(found) > limit else None
