"""Queries of lists, and of what other lists leave of them."""

from collections.abc import Callable
from typing import Any

from chalicelib.base.lists import Span
from chalicelib.platform.storage.codec import Attributes

Query = Callable[..., Any]
"""DynamoDB's query of one table."""
_DENSE = 4
"""A query of a list of which something is left out looks at first at so many records for each that is wanted."""


def read(
    query: Query, span: Span, limit: int, queries: int, *, oldest_first: bool = False
) -> tuple[list[Attributes], str | None]:
    """Up to `limit` items of a span, the newest first unless `oldest_first`, and the place up to which it was read
    (`Found.end`)."""
    items, start = list[Attributes](), dict[str, Any]()
    if span.first > span.last:  # DynamoDB refuses to look for what is between them
        return items, None
    for turn in range(queries):
        budget = _split_budget(span, limit + 1, turn)
        response = query(**_parameters(span), ScanIndexForward=oldest_first, **budget, **start)
        items += response["Items"]
        start = {"ExclusiveStartKey": last} if (last := response.get("LastEvaluatedKey")) else {}
        if len(items) > limit or not start:
            break
    if len(items) > limit:
        return items[:limit], _place(items[limit - 1])
    end = _place(start["ExclusiveStartKey"]) if start else None
    if end is not None and span.equal is not None:  # all of that instant are looked at again
        instant = end.partition("#")[0]
        is_shown = bool(items) and _place(items[-1]).startswith(f"{instant}#")  # but for those that were found
        end = _place(items[-1]) if is_shown else instant + ("" if oldest_first else "~")
    return items, end


def count(query: Query, span: Span, queries: int) -> tuple[int, bool]:
    """The number of items of a span, and whether it is exact; if that takes more `queries`, it is lower."""
    start, counted = dict[str, Any](), 0
    if span.first > span.last:
        return counted, True
    for _ in range(queries):
        response = query(**_parameters(span), Select="COUNT", **start)
        counted += int(response["Count"])
        if "LastEvaluatedKey" not in response:
            return counted, True
        start = {"ExclusiveStartKey": response["LastEvaluatedKey"]}
    return counted, False


def _parameters(span: Span) -> dict[str, Any]:
    """The parameters of a query that reads a span."""
    values = {":name": span.list.name, ":first": span.first, ":last": span.last}
    conditions = []
    for number, alternatives in enumerate(span.within):
        equal = []
        for letter, named in enumerate(alternatives):
            values[f":within{number}_{letter}"] = named.name
            equal.append(f"{named.index} = :within{number}_{letter}")
        conditions.append(f"({' OR '.join(equal)})")
    conditions += [" = ".join(span.equal)] if span.equal is not None else []
    return {
        "IndexName": span.list.index,
        "KeyConditionExpression": f"{span.list.index} = :name AND listed_at BETWEEN :first AND :last",
        "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
        **({"FilterExpression": " AND ".join(conditions)} if conditions else {}),
    }


def _split_budget(span: Span, wanted: int, turn: int) -> dict[str, int]:
    """How many records a query looks at, which DynamoDB ends at 1 MB; `turn` counts the queries before it."""
    if not span.within and span.equal is None:
        return {"Limit": wanted}
    return {"Limit": wanted * _DENSE} if turn == 0 else {}


def _place(item: Attributes) -> str:
    place: str = item["listed_at"]["S"]
    return place
