"""Lists of accounts: their names and indexes, the places of records in them, and the parts and days that are read."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, PAYMENTS, WEBHOOKS

LISTS = {
    PAYMENTS: (
        "by_account", "by_client", "by_status", "by_payer", "by_payee", "by_reference", "by_tx", "by_source_tx",
        "by_request", "by_network", "by_type", "by_currency", "by_invoice",
    ),
    WEBHOOKS: ("by_account", "by_kind", "by_request", "by_mispayment"),
}
"""The indexes of each table that hold the lists of accounts. A record is in those that its `listed` names.

The partition key of an index is the attribute of the same name, its sort key is `listed_at`.
"""
MOST_QUERIES = 8
"""The most queries that read a page, those that count, and those that pass over an offset, each."""
PUBLIC_QUERIES = 2
"""The same for a client id that is sent alone: 1 MB each at most, for a call that anybody can make."""
T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LATEST = 10**14 - 1


def list_of(account_id: str, kind: str, *value: str) -> str:
    """The name of a list: all records of one kind of an account, or those with one value."""
    return "#".join((account_id, kind, *value))


def lists(account_id: str, kind: str, values: Mapping[str, str | None]) -> dict[str, str]:
    """The lists of an account with all records of a kind, and with those of each value, by index; None has no list.

    None at all for a record from before it had an account.
    """
    if not account_id:
        return {}
    found = {index: list_of(account_id, kind, value) for index, value in values.items() if value}
    return {"by_account": list_of(account_id, kind), **found}


def place_of(at: datetime, record_id: str) -> str:
    """A text that sorts by time, and that no other record of the list has."""
    return f"{place_at(at)}#{record_id}"


def place_at(at: datetime) -> str:
    """The first place at an instant. One before 1970 or after 5137 has the nearest of those years."""
    return f"{min(max((at - _EPOCH) // _MILLISECOND, 0), _LATEST):014}"


def last_place_at(at: datetime) -> str:
    """The last place at an instant."""
    return f"{place_at(at)}{LAST_SORT_KEY}"


@frozen
class Named:
    """One list: an index of `base.records.LISTS`, and the name of the list in it."""

    index: str
    name: str


@frozen
class Span:
    """The records of one list from the place `first` to the place `last`, both included.

    `within` leaves out every record that is not in one list of each of its entries as well; `equal` those in which two
    attributes differ. `Found.end` has no id of what `equal` leaves out: who may not see a record learns no id of it.
    """

    list: Named
    first: str = FIRST_SORT_KEY
    last: str = LAST_SORT_KEY
    within: tuple[tuple[Named, ...], ...] = ()
    equal: tuple[str, str] | None = None


@frozen
class Found(Generic[T]):
    """Records of a span, in the order in which it was read. `end` is the place up to which that was, None if it was to
    its end. Beyond `end` there may be more records."""

    records: tuple[T, ...]
    end: str | None


def below(place: str) -> str:
    """The last place below `place_of`, for the `last` of a span that goes on there."""
    return place[:-1] + chr(ord(place[-1]) - 1) + LAST_SORT_KEY


def above(place: str) -> str:
    """The first place above `place_of` or `place_at`, for the `first` of a span that goes on there."""
    return f"{place}{FIRST_SORT_KEY}"


def day_of(instant: datetime) -> str:
    return instant.astimezone(UTC).date().isoformat()


@frozen
class PartialDay:
    """A day of which a search has a part: the records from `first` to `last` are to be counted on the index.

    `is_outside` means that they are those of the day that the search leaves out, which are fewer.
    """

    day: str
    first: datetime
    last: datetime
    is_outside: bool = False


def partial_days(first: datetime | None, last: datetime | None) -> tuple[PartialDay, ...]:
    """The days at the ends of a search, from `first` to `last`, that it does not have whole."""
    if first is not None and last is not None and day_of(first) == day_of(last):
        is_whole = first == _start(first) and last == _end(last)
        return () if is_whole else (PartialDay(day_of(first), first, last),)
    found = []
    if first is not None and first != _start(first):
        is_outside = first - _start(first) < _end(first) - first
        span = (_start(first), first - _MILLISECOND) if is_outside else (first, _end(first))
        found.append(PartialDay(day_of(first), *span, is_outside))
    if last is not None and last != _end(last):
        is_outside = _end(last) - last < last - _start(last)
        span = (last + _MILLISECOND, _end(last)) if is_outside else (_start(last), last)
        found.append(PartialDay(day_of(last), *span, is_outside))
    return tuple(found)


def with_partial_day(days: Mapping[str, int], partial: PartialDay, number: int) -> dict[str, int]:
    """The numbers of days with that of a day that the search has in part; `number` are the records of the edge."""
    of_day = days.get(partial.day, 0) - number if partial.is_outside else number
    return {**days, partial.day: of_day}


def place_of_offset(days: Mapping[str, int], offset: int) -> tuple[str, int]:
    """The place below which the record with this offset is, at the end of its day, and how many are between them.

    `days` are in descending order.
    """
    for day, number in days.items():
        if offset < number:
            return last_place_at(_end(datetime.fromisoformat(day).replace(tzinfo=UTC))), offset
        offset -= number
    return FIRST_SORT_KEY, 0


def _start(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _end(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=23, minute=59, second=59, microsecond=999_000)
