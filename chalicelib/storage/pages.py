"""Pages of the lists of an account, by cursor or by offset."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Generic, TypeVar

from chalicelib.base.cursors import Position, cursor_of, position_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import Named, Span, below, last_place_at, list_of, place_at
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, Record
from chalicelib.storage.store import Store

T = TypeVar("T", bound=Record)
MOST_QUERIES = 8
"""The most queries that read a page, those that count, and those that pass over an offset, each."""


@frozen
class Listing:
    """What is read of an account: the records of one kind that have all these values, by index, the rarest value first.

    `first` and `last` are both included.
    """

    account_id: str
    kind: str
    values: Mapping[str, str | None]
    first: datetime | None = None
    last: datetime | None = None

    @property
    def span(self) -> Span:
        values = {index: value for index, value in self.values.items() if value is not None}
        lists = [Named(index, list_of(self.account_id, self.kind, value)) for index, value in values.items()]
        by, *others = lists or [Named("by_account", list_of(self.account_id, self.kind))]
        first = FIRST_SORT_KEY if self.first is None else place_at(self.first)
        last = LAST_SORT_KEY if self.last is None else last_place_at(self.last)
        return Span(by, first, last, tuple((each,) for each in others))

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

    It is shorter than `limit` if these take more than MOST_QUERIES. Raises ValidationFailed for a foreign cursor.
    """
    position = position_of(cursor, listing.scope) if cursor else Position("", (), 0, None)
    return _page(store, cls, listing, position, limit)


def page_at(store: Store, cls: type[T], listing: Listing, offset: int, limit: int) -> ListPage[T]:
    """The page at an offset, with the number of all records if MOST_QUERIES can count them. Raises BadRequest."""
    total = store.count_listed(cls, listing.span, MOST_QUERIES)
    if total is not None and offset >= total:
        return ListPage((), None, offset, total)
    place = ""
    if offset:
        passed = store.newest(cls, listing.span, offset, MOST_QUERIES)
        if len(passed.records) < offset or passed.end is None:
            raise BadRequest("offset is too far in this list: read it by cursor (nextCursor)")
        place = passed.end
    return _page(store, cls, listing, Position(place, (), offset, total), limit)


def _page(store: Store, cls: type[T], listing: Listing, position: Position, limit: int) -> ListPage[T]:
    span = listing.span
    if position.place:
        span = replace(span, last=min(span.last, below(position.place)))
    found = store.newest(cls, span, limit, MOST_QUERIES)
    cursor = None
    if found.end is not None:
        following = Position(found.end, (), position.offset + len(found.records), position.total)
        cursor = cursor_of(following, listing.scope)
    return ListPage(found.records, cursor, position.offset, position.total)
