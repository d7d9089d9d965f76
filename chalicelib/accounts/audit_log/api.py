"""The view of the audit log: changes to an account's credentials, webhooks, destinations and sessions."""

from chalicelib.accounts.audit_log import flows
from chalicelib.accounts.audit_log.schemas import AuditLine, AuditPage, AuditQuery
from chalicelib.platform.http.view import Call


def read_audit(call: Call[None, AuditQuery]) -> AuditPage:
    query = call.query
    entries, cursor = flows.page(call.services, call.caller.account_id, query.cursor, query.limit)
    return AuditPage(entries=[AuditLine.of(entry) for entry in entries], nextCursor=cursor)
