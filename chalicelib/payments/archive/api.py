"""The view of archived requests."""

from chalicelib.payments.archive import flows
from chalicelib.payments.archive.schemas import ArchivedRequestsPage, ArchiveQuery
from chalicelib.platform.http.view import Call


def list_archived_requests(call: Call[None, ArchiveQuery]) -> ArchivedRequestsPage:
    query = call.query
    page = flows.page(call.services, call.caller.account_id, query.month, query.cursor)
    return ArchivedRequestsPage.of(page, call.services.settings)
