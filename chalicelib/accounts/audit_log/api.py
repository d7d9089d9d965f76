"""The view of the audit log: changes to an account's credentials, webhooks, destinations and sessions."""

from chalicelib.accounts.audit_log.schemas import AuditLine, AuditPage, AuditQuery
from chalicelib.platform.access.audit import store as audit_store
from chalicelib.platform.access.audit.rules import cursor_after, entry_id_of
from chalicelib.platform.http.view import Call


def read_audit(call: Call[None, AuditQuery]) -> AuditPage:
    cursor, limit = call.query.cursor, call.query.limit
    before = entry_id_of(cursor) if cursor is not None else None
    entries = audit_store.entries_before(call.services.store, call.caller.account_id, before, limit + 1)
    on_page = entries[:limit]
    following = cursor_after(on_page[-1]) if len(entries) > limit else None
    return AuditPage(entries=[AuditLine.of(entry) for entry in on_page], nextCursor=following)
