"""The views of the journal, and of it by one wallet."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from chalicelib.books.journal.bank_files import FILES, Account
from chalicelib.books.journal.export import beancount, table
from chalicelib.books.journal.rules import Entry, entry_of
from chalicelib.books.journal.schemas import (
    EntryAnswer,
    JournalPage,
    JournalQuery,
    LineAnswer,
    WalletPage,
    WalletQuery,
)
from chalicelib.books.journal.wallet_lines import lines_of
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.payments.requests import list_names
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.export import with_mark
from chalicelib.payments.search.payments.records import Filters, Page
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
    page = _page(call, Filters(call.caller.account_id))
    entries = tuple(entry_of(each) for each in page.payments)
    if wanted not in _TEXTS:
        return JournalPage(entries=[EntryAnswer.of(each) for each in entries], nextCursor=page.cursor)
    write, name = _TEXTS[wanted]
    text = with_mark(write(entries, not query.cursor), query.excel if wanted == _CSV else None, query.cursor)
    return file_part(text, wanted, name, next_url(call, "/v2/journal", page.cursor))


def read_wallet_journal(call: Call[None, WalletQuery]) -> WalletPage | HttpResponse:
    query, currency, wallet = call.query, require_token(call.query.currency), call.query.walletAddress
    listed = list_names.wallet(wallet)
    page = _page(call, Filters(call.caller.account_id, wallet=listed, network=query.network))
    lines, unvalued = lines_of(map(entry_of, page.payments), query.network, wallet, currency)
    if query.format == "json":
        shown = [LineAnswer.of(each, currency) for each in lines]
        return WalletPage(lines=shown, unvalued=unvalued, nextCursor=page.cursor)
    write, media_type, name = FILES[query.format]
    text = write(lines, Account(query.network, wallet, currency, call.services.clock()))
    part = file_part(text, media_type, name, next_url(call, "/v2/journal/wallet", page.cursor))
    return replace(part, headers={**part.headers, "X-Unvalued": str(unvalued)})


def _page(call: Call[None, Any], filters: Filters) -> Page:
    """The payments of a page of a journal, with the dates and the client id of the query."""
    query = call.query
    client_id = call.caller.finds_of(query.clientId)
    wanted = replace(filters, client_id=client_id, first=query.first, last=query.last)
    return payment_search.page_after(call.services, wanted, query.cursor or "", query.limit, with_requests=False)
