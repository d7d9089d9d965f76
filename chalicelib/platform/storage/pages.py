"""Pages of the lists of an account, by cursor or by offset."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Generic, TypeVar

from chalicelib.base.cursors import Position, cursor_of, position_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import MOST_QUERIES, Named, Span, below, last_place_at, list_of, place_at, place_of_offset
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, Record
from chalicelib.platform.storage.store import Store

T = TypeVar("T", bound=Record)


@frozen
class Listing:
    """What is read of an account: the records of one kind that have all these values, by index, the rarest value first.

    `first` and `last` are both included. `equal` is as in Span, `queries` as MOST_QUERIES.
    """

    account_id: str
    kind: str
    values: Mapping[str, str | None]
    first: datetime | None = None
    last: datetime | None = None
    equal: tuple[str, str] | None = None
    queries: int = MOST_QUERIES

    @property
    def span(self) -> Span:
        values = {index: value for index, value in self.values.items() if value is not None}
        lists = [Named(index, list_of(self.account_id, self.kind, value)) for index, value in values.items()]
        by, *others = lists or [Named("by_account", list_of(self.account_id, self.kind))]
        first = FIRST_SORT_KEY if self.first is None else place_at(self.first)
        last = LAST_SORT_KEY if self.last is None else last_place_at(self.last)
        return Span(by, first, last, tuple((each,) for each in others), self.equal)

    @property
    def scope(self) -> tuple[str, ...]:
        given = {"kind": self.kind, "first": self.first, "last": self.last, **self.values}
        return (self.account_id, *(f"{name}={value}" for name, value in given.items() if value is not None))


@frozen
class ListPage(Generic[T]):
    """Some records of a list, the newest first; `cursor` is None on the last page, `total` if it is not known."""

    records: tuple[T, ...]
    cursor: str | None
    offset: int = 0
    total: int | None = None


def page_after(store: Store, cls: type[T], listing: Listing, cursor: str | None, limit: int) -> ListPage[T]:
    """The page after a cursor, or the first one. One query, more if values beside the first leave most out.

    It is shorter than `limit` if these take more queries than it has. Raises ValidationFailed for a foreign cursor.
    """
    position = position_of(cursor, listing.scope) if cursor else Position("", (), 0, None)
    span = listing.span
    if position.place:
        span = replace(span, last=min(span.last, below(position.place)))
    return _page(store, cls, listing, span, limit, position.offset, position.total)


def page_at(
    store: Store, cls: type[T], listing: Listing, offset: int, limit: int, days: Mapping[str, int] | None
) -> ListPage[T]:
    """The page at an offset, with the number of all records. `days` are their numbers by day, in descending order.

    With None they are counted here: if that takes more queries than it has, `total` is the number up to there, and
    never less than the page shows. Raises BadRequest for an offset that takes more to get to.
    """
    span = listing.span
    if days is None:
        (total, is_exact), left = store.count_listed(cls, span, listing.queries), offset
    else:
        (last, left), total, is_exact = place_of_offset(days, offset), sum(days.values()), True
        span = replace(span, last=min(span.last, last))
    if is_exact and offset >= total:
        return ListPage((), None, offset, total)
    if left:
        passed = store.newest(cls, span, left, listing.queries)
        if passed.end is None:
            return ListPage((), None, offset, total)
        if len(passed.records) < left:
            raise BadRequest("offset is too far in this list: read it by cursor (nextCursor)")
        span = replace(span, last=below(passed.end))
    return _page(store, cls, listing, span, limit, offset, total)


def number(store: Store, cls: type[Record], listing: Listing, shares: int = 1) -> int | None:
    """The number of records; None if it takes more than MOST_QUERIES, which so many such numbers share."""
    counted, is_exact = store.count_listed(cls, listing.span, MOST_QUERIES // shares)
    return counted if is_exact else None


def _page(
    store: Store, cls: type[T], listing: Listing, span: Span, limit: int, offset: int, total: int | None
) -> ListPage[T]:
    found = store.newest(cls, span, limit, listing.queries)
    passed = offset + len(found.records)
    if total is not None:
        is_followed = found.end is not None and span.equal is None
        total = max(total, passed + is_followed)
    cursor = None
    if found.end is not None:
        cursor = cursor_of(Position(found.end, (), passed, total), listing.scope)
    return ListPage(found.records, cursor, offset, total)
