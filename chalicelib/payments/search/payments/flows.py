"""Finds payments: a page by offset, with the exact number of all that match, or by cursor.

    filters ── daily counts: how many, on which days ── the list that leaves least ── a page of it ── their requests

Each takes one query for a single filter, at most, or for a symbol one for each of its currencies, at the same time: a
request keeps the number of its payments. A list that has to leave much out, because of other filters, is read by a
bounded number of queries.
"""

from dataclasses import replace

from chalicelib.base.cursors import Position, cursor_of, position_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.lists import Found, Span, below, partial_days, place_of_offset, with_partial_day
from chalicelib.payments.links import store as link_store
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.search.payments import rules, store
from chalicelib.payments.search.payments.records import Filters, Page
from chalicelib.payments.search.payments.rules import Counted
from chalicelib.platform.services import Services

_TOO_MUCH = (
    "These filters together match too little of a long list to be counted: narrow fromDate and toDate, or read the "
    "list by cursor, starting with an empty `cursor`"
)
_TOO_DEEP = (
    "This offset is too far within one day: read the list by cursor (`nextCursor`), or narrow fromDate and toDate"
)


def page_at(services: Services, filters: Filters, offset: int, limit: int) -> Page:
    """The page at an offset. Raises BadRequest if it takes too many queries to count or to get there."""
    counted = _count_payments(services, filters)
    chosen = rules.choose_filter(filters, counted)
    by = (chosen, *rules.indexes_of(chosen, counted.roles if counted else None))
    total = counted.total if counted is not None else _number(services, filters, by)
    if total is None:
        raise BadRequest(_TOO_MUCH)
    if offset >= total:
        return Page((), {}, total, offset, None)
    last, left = place_of_offset(counted.days, offset) if counted is not None else (None, offset)
    spans = _spans(filters, by, last)
    if left:
        passed = store.find_newest(services.store, spans, left, filters.queries)
        if len(passed.records) < left or passed.end is None:
            if passed.end is not None:
                raise BadRequest(_TOO_DEEP)
            return Page((), {}, total, offset, None)
        spans = _spans(filters, by, below(passed.end))
    return _page(services, filters, by, store.find_newest(services.store, spans, limit, filters.queries), offset, total)


def page_after(services: Services, filters: Filters, cursor: str, limit: int, with_requests: bool = True) -> Page:
    """The page after a cursor, or the first page for an empty one, which is not counted. Raises ValidationFailed.

    The page has fewer payments than `limit`, or none, where other filters leave out most of what was read.
    """
    if cursor:
        position = position_of(cursor, filters.scope, rules.ways_of(filters))
    else:
        chosen = rules.choose_filter(filters, None)
        position = Position("", (chosen, *rules.indexes_of(chosen, None)), 0, None)
    spans = _spans(filters, position.indexes, below(position.place) if position.place else None)
    found = store.find_newest(services.store, spans, limit, filters.queries)
    return _page(services, filters, position.indexes, found, position.offset, position.total, with_requests)


def _count_payments(services: Services, filters: Filters) -> Counted | None:
    """The numbers of payments by day; None if the daily counts do not tell. Raises BadRequest."""
    if not rules.is_counted(filters):
        return None
    series = rules.series_of(filters)
    records = request_store.daily_counts(services.store, filters.account_id, series, filters.first, filters.last)
    counted = rules.sum_up_counts(filters, records)
    in_part = [partial for partial in partial_days(filters.first, filters.last) if counted.days.get(partial.day)]
    for partial in in_part:
        within = replace(filters, first=partial.first, last=partial.last)
        chosen = rules.choose_filter(filters, counted)
        by = (chosen, *rules.indexes_of(chosen, counted.roles))
        number = store.count_payments(services.store, _spans(within, by), filters.queries // len(in_part))
        if number is None:
            raise BadRequest(_TOO_MUCH)
        counted = replace(counted, days=with_partial_day(counted.days, partial, number))
    return counted


def _number(services: Services, filters: Filters, by: tuple[str, ...]) -> int | None:
    """The number of payments without daily counts, by the count of their request if that is all that is asked for.

    None if it takes too many queries to count them on the index.
    """
    if (request_id := filters.request_alone) is not None:
        request = link_store.find_requests(services.store, [request_id]).get(request_id)
        if request is not None:
            return rules.number_of(filters, request)
    return store.count_payments(services.store, _spans(filters, by), filters.queries)


def _spans(filters: Filters, by: tuple[str, ...], last: str | None = None) -> tuple[Span, ...]:
    """What is read of the lists of a filter by some of their indexes (`Position.indexes`)."""
    chosen, *indexes = by
    spans = rules.spans_of(filters, chosen) if last is None else rules.spans_of(filters, chosen, last)
    return tuple(span for span in spans if span.list.index in indexes)


def _page(
    services: Services,
    filters: Filters,
    by: tuple[str, ...],
    found: Found[Payment],
    offset: int,
    total: int | None,
    with_requests: bool = True,
) -> Page:
    cursor = None
    if found.end is not None:
        cursor = cursor_of(Position(found.end, by, offset + len(found.records), total), filters.scope)
    ids = {each.request_id for each in found.records} if with_requests else ()
    requests = link_store.find_requests(services.store, ids) if ids else {}
    return Page(found.records, requests, total, offset, cursor)
