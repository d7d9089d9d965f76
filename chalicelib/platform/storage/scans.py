"""Scans of a table: all of it or a part, for what has no index and is read seldom."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from chalicelib.base.records import Key, Record
from chalicelib.platform.storage.codec import Attributes
from chalicelib.platform.storage.items import attributes_of, is_listed, record_of

Scan = Callable[..., Any]
"""DynamoDB's scan of one table, which returns up to 1 MB."""
Kinds = Sequence[type[Record]]


class Scanned(NamedTuple):
    """A record by its key, and what reads it: so one that cannot be read does not stop the scan."""

    key: Key
    read: Callable[[], Record]


def every(scan: Scan, kinds: Kinds, segment: int, segments: int) -> Iterator[tuple[Record, bool]]:
    """The records of some kinds in one segment of a table, each with whether it is in its lists."""
    start = dict[str, Any]()
    while True:
        response = scan(Segment=segment, TotalSegments=segments, **start)
        for item, _, kind in _of_kinds(kinds, response["Items"]):
            record = record_of(kind, item)
            yield record, is_listed(record, item)
        if "LastEvaluatedKey" not in response:
            return
        start = {"ExclusiveStartKey": response["LastEvaluatedKey"]}


def part(scan: Scan, kinds: Kinds, after: Key | None) -> tuple[list[Scanned], Key | None]:
    """The records of some kinds in the next response after a key, and the last key of that; None at the end."""
    response = scan(**({"ExclusiveStartKey": attributes_of(after)} if after is not None else {}))
    found = [Scanned(key, partial(record_of, kind, item)) for item, key, kind in _of_kinds(kinds, response["Items"])]
    end = response.get("LastEvaluatedKey")
    return found, _key_of(kinds, end) if end else None


def _of_kinds(kinds: Kinds, items: Sequence[Attributes]) -> Iterator[tuple[Attributes, Key, type[Record]]]:
    for item in items:
        key = _key_of(kinds, item)
        kind = next((each for each in kinds if each.KEY.names(key.pk, key.sk)), None)
        if kind is not None:
            yield item, key, kind


def _key_of(kinds: Kinds, item: Attributes) -> Key:
    return Key(kinds[0].KEY.table, item["pk"]["S"], item["sk"]["S"])
