"""The audit log: what was done to an account's credentials, webhooks, destinations and sessions, and by whom."""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.accounts.audit_log import flows as audit
from chalicelib.accounts.audit_log.schemas import AuditLine, AuditPage, AuditQuery
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "GET",
    "/v1/audit",
    summary="Who did what, newest first",
    modes=(Mode.API_KEY, Mode.SESSION),
    scope="audit:read",
    query=AuditQuery,
    answer=AuditPage,
    errors=(400, 401, 403),
)
def read_audit(call: Call) -> AuditPage:
    query: AuditQuery = call.query
    entries, cursor = audit.page(call.services, call.caller.account_id, query.cursor, query.limit)
    return AuditPage(entries=[AuditLine.of(entry) for entry in entries], nextCursor=cursor)
