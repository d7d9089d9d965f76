"""The view of the journal."""

from collections.abc import Callable, Iterable, Mapping

from chalicelib.books.journal.export import beancount, table
from chalicelib.books.journal.rules import Entry, entry_of
from chalicelib.books.journal.schemas import EntryAnswer, JournalPage, JournalQuery
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.export import with_mark
from chalicelib.payments.search.payments.records import Filters
from chalicelib.platform.http.negotiation import choose_media_type
from chalicelib.platform.http.responses import HttpResponse, file_part
from chalicelib.platform.http.view import Call, next_url

_JSON, _CSV, _BEANCOUNT = "application/json", "text/csv", "text/x-beancount"
_TEXTS: Mapping[str, tuple[Callable[[Iterable[Entry], bool], str], str]] = {
    _CSV: (table, "journal.csv"),
    _BEANCOUNT: (beancount, "journal.beancount"),
}
"""By media type what writes it, and the name of the file."""


def read_journal(call: Call[None, JournalQuery]) -> JournalPage | HttpResponse:
    query, wanted = call.query, choose_media_type(call.headers.get("accept", ""), (_JSON, *_TEXTS))
    filters = Filters(
        call.caller.account_id, client_id=call.caller.finds_of(query.clientId), first=query.first, last=query.last
    )
    page = payment_search.page_after(call.services, filters, query.cursor or "", query.limit, with_requests=False)
    entries = tuple(entry_of(each) for each in page.payments)
    if wanted not in _TEXTS:
        return JournalPage(entries=[EntryAnswer.of(each) for each in entries], nextCursor=page.cursor)
    write, name = _TEXTS[wanted]
    text = with_mark(write(entries, not query.cursor), query.excel if wanted == _CSV else None, query.cursor)
    return file_part(text, wanted, name, next_url(call, "/v2/journal", page.cursor))
