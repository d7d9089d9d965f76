"""Reads of lists: which part of an index is read, and what is left out of it."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY

T = TypeVar("T")
_DENSE = 4
"""A query of a list of which something is left out looks at first at so many records for each that is wanted."""


@frozen
class Named:
    """One list: an index of `base.records.LISTS`, and the name of the list in it."""

    index: str
    name: str


@frozen
class Span:
    """The records of one list from the place `first` to the place `last`, both included.

    `within` leaves out every record that is not in one list of each of its entries as well.
    """

    list: Named
    first: str = FIRST_SORT_KEY
    last: str = LAST_SORT_KEY
    within: tuple[tuple[Named, ...], ...] = ()


@frozen
class Found(Generic[T]):
    """Records of a span, the newest first. `end` is the place up to which it was read, None if there is nothing below.

    Below `end` there may be more records, and below the last record if `end` is its place.
    """

    records: tuple[T, ...]
    end: str | None


def below(place: str) -> str:
    """The last place below `place`, for the `last` of a span that goes on there."""
    return place[:-1] + chr(ord(place[-1]) - 1) + LAST_SORT_KEY


def parameters(span: Span) -> dict[str, Any]:
    """The parameters of a query that reads a span from its last place."""
    values = {":name": span.list.name, ":first": span.first, ":last": span.last}
    conditions = []
    for number, alternatives in enumerate(span.within):
        equal = []
        for letter, named in enumerate(alternatives):
            values[f":within{number}_{letter}"] = named.name
            equal.append(f"{named.index} = :within{number}_{letter}")
        conditions.append(f"({' OR '.join(equal)})")
    return {
        "IndexName": span.list.index,
        "KeyConditionExpression": f"{span.list.index} = :name AND listed_at BETWEEN :first AND :last",
        "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
        "ScanIndexForward": False,
        **({"FilterExpression": " AND ".join(conditions)} if conditions else {}),
    }


def looked_at(span: Span, wanted: int, turn: int) -> dict[str, int]:
    """How many records a query looks at, which DynamoDB ends at 1 MB; `turn` counts the queries before it."""
    if not span.within:
        return {"Limit": wanted}
    return {"Limit": wanted * _DENSE} if turn == 0 else {}


def found(records: Sequence[T], places: Sequence[str], limit: int, read_to: str | None) -> Found[T]:
    """The first `limit` of these records, of which the places are known; `read_to` is None if there are no others."""
    if len(records) > limit:
        return Found(tuple(records[:limit]), places[limit - 1])
    return Found(tuple(records), read_to)
