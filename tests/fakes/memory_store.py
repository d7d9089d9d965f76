"""A `Store` in memory, for simulations of many thousand writes: the same conditions, order and index, but no DynamoDB."""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from hashlib import sha256
from typing import Any, get_type_hints

from botocore.exceptions import ClientError

from chalicelib.base.lists import Found, Named, Span
from chalicelib.base.records import LAST_SORT_KEY, Counts, Key, KeyRange, Record
from chalicelib.platform.storage import codec
from chalicelib.platform.storage.items import DUE_SHARDS
from chalicelib.platform.storage.scans import Scanned
from chalicelib.platform.storage.store import (
    LARGEST_TRANSACTION,
    Absent,
    Add,
    Delete,
    Store,
    Unchanged,
    Write,
    WriteConflict,
    with_next_version,
)
from infra.local import calls as aws_calls

SCANNED = 1_000
"""As many records as DynamoDB returns of a scan, if each has 1 KB."""


class MemoryStore(Store):
    """Holds records as they were written. `calls` counts what would be calls to DynamoDB, by operation."""

    def __init__(self) -> None:
        super().__init__("memory", client=object(), at_once=1)
        self._records: dict[Key, Any] = {}
        self._kinds: dict[type[Any], dict[Key, Any]] = {}
        self._sorted: dict[tuple[str, str], list[str]] = {}
        self._lists: dict[tuple[str, str, str], dict[str, Key]] = {}
        self._due: dict[tuple[str, str], dict[Key, datetime]] = {}
        self.calls: dict[str, int] = {}
        self._counters: dict[Key, int] = {}

    def all(self, cls: type[Any]) -> list[Any]:
        """Every stored record of a kind; not counted, as no such call exists."""
        return [each for kind, found in self._kinds.items() if issubclass(kind, cls) for each in found.values()]

    def everything(self) -> list[Any]:
        """Every stored record, as `all`."""
        return list(self._records.values())

    def get(self, cls: type[Any], key: Key) -> Any:
        self._count("GetItem", key.table)
        return self._records.get(key)

    def get_many(self, wanted: Mapping[Key, type[Record]]) -> dict[Key, Any]:
        self._count("BatchGetItem", *{key.table for key in wanted}, calls=-(-len(wanted) // 100))
        return {key: self._records[key] for key in wanted if key in self._records}

    def query(self, cls: type[Any], keys: KeyRange, limit: int | None = None) -> tuple[Any, ...]:
        self._count("Query", keys.table)
        found = [sk for sk in self._sorted.get((keys.table, keys.pk), ()) if keys.first <= sk <= keys.last]
        return tuple(self._records[Key(keys.table, keys.pk, sk)] for sk in found[:limit])

    def count(self, counter: Record, limit: int, amount: int = 1) -> int | None:
        self._count("UpdateItem", counter.key.table)
        counted = self._counters.get(counter.key, 0) + amount
        if counted > limit:
            return None
        self._counters[counter.key] = counted
        return counted

    def page(
        self, cls: type[Any], pk: str, before: str | None, limit: int, *, consistent: bool = False
    ) -> tuple[tuple[Any, ...], str | None]:
        self._count("Query", cls.KEY.table)
        table, below = cls.KEY.table, before or LAST_SORT_KEY
        found = [sk for sk in reversed(self._sorted.get((table, pk), ())) if sk < below]
        records = tuple(self._records[Key(table, pk, sk)] for sk in found[:limit])
        return records, found[limit - 1] if len(found) >= limit else None

    def uncount(self, counter: Record, amount: int = 1) -> None:
        self._count("UpdateItem", counter.key.table)
        if (counted := self._counters.get(counter.key, 0)) >= amount:
            self._counters[counter.key] = counted - amount

    def head(self, cls: type[Any], pk: str, after: str | None, limit: int) -> tuple[Any, ...]:
        self._count("Query", cls.KEY.table)
        found = [sk for sk in self._sorted.get((cls.KEY.table, pk), ()) if sk > (after or "")]
        return tuple(self._records[Key(cls.KEY.table, pk, sk)] for sk in found[:limit])

    def newest_of_each(self, cls: type[Any], partitions: Sequence[str]) -> list[Any]:
        return [found for pk in partitions for found in self.page(cls, pk, None, 1)[0]]

    def query_mixed(self, kinds: Iterable[type[Record]], pk: str, *, may_lag: bool = False) -> list[Any]:
        wanted = {each.KEY.kind: each.KEY.table for each in kinds}
        table = next(iter(wanted.values()))
        self._count("Query", table)
        return [self._records[Key(table, pk, sk)] for sk in self._sorted.get((table, pk), ()) if sk.split("#")[0] in wanted]

    def newest(self, cls: type[Any], span: Span, limit: int, queries: int = 1) -> Found[Any]:
        return self._first_of(cls, span, self._span(cls, span), limit)

    def oldest(self, cls: type[Any], span: Span, limit: int, queries: int = 1) -> Found[Any]:
        return self._first_of(cls, span, self._span(cls, span)[::-1], limit)

    def _first_of(self, cls: type[Any], span: Span, keys: Sequence[Key], limit: int) -> Found[Any]:
        self._count("Query", f"{cls.KEY.table}/index/{span.list.index}")
        listed = [self._records[key] for key in keys]
        return Found(tuple(listed[:limit]), listed[limit - 1].listed_at if len(listed) > limit else None)

    def count_listed(self, cls: type[Record], span: Span, queries: int) -> tuple[int, bool]:
        self._count("Query", f"{cls.KEY.table}/index/{span.list.index}")
        return len(self._span(cls, span)), True

    def _span(self, cls: type[Record], span: Span) -> list[Key]:
        """The keys of the records of a span, the newest first."""
        table = cls.KEY.table
        listed = sorted(self._lists.get((table, span.list.index, span.list.name), {}).items(), reverse=True)
        keys = [key for place, key in listed if span.first <= place <= span.last]
        keys = [key for key in keys if all(any(self._is_in(key, each) for each in one_of) for one_of in span.within)]
        if span.equal is None:
            return keys
        items = {key: codec.encode(self._records[key]) for key in keys}
        return [key for key, item in items.items() if len({str(item.get(each)) for each in span.equal}) == 1]

    def _is_in(self, key: Key, named: Named) -> bool:
        return bool(self._records[key].listed.get(named.index) == named.name)

    def due(
        self, cls: type[Record], before: datetime, limit: int, first_shard: int = 0, since: datetime | None = None
    ) -> Iterator[Key]:
        for offset in range(DUE_SHARDS):
            shard = (first_shard + offset) % DUE_SHARDS
            self._count("Query", *(() if offset else (f"{cls.KEY.table}/index/by_due",)))  # recorded once: all are one function's
            waiting = self._due.get((cls.KEY.table, f"{cls.DUE_GROUP}{shard}"))
            if not waiting:
                continue
            due = sorted((at, key) for key, at in waiting.items() if at <= before and (since is None or since <= at))
            yield from [key for _, key in due[:limit]]

    def scan_on(self, kinds: Sequence[type[Record]], after: Key | None) -> tuple[list[Scanned], Key | None]:
        """As the real one; a part has SCANNED records."""
        self._count("Scan", kinds[0].KEY.table)
        keys = sorted(key for kind in kinds for key in self._kinds.get(kind, ()) if after is None or key > after)
        part = keys[:SCANNED]
        found = [Scanned(key, partial(self._records.__getitem__, key)) for key in part]
        return found, part[-1] if len(keys) > SCANNED else None

    def _apply(self, *writes: Write) -> None:
        if len(writes) > 1 or not isinstance(writes[0], Record):
            self._count("TransactWriteItems")
            for write in writes:
                aws_calls.record_call(f"dynamodb:{_action(write)}", _table_of(write))
        else:
            self._count(_action(writes[0]), _table_of(writes[0]))
        keys = [each.key if isinstance(each, Record) else each.record.key for each in writes]
        if len(writes) > LARGEST_TRANSACTION + 1 or len(set(keys)) < len(keys):
            raise ClientError({"Error": {"Code": "ValidationException"}}, "TransactWriteItems")
        for each, key in zip(writes, keys, strict=True):
            if isinstance(each, Add):
                continue
            stored = self._records.get(key)
            expected = 0 if isinstance(each, Absent) else (each if isinstance(each, Record) else each.record).version
            if (stored.version if stored is not None else 0) != expected:
                raise WriteConflict
        for each, key in zip(writes, keys, strict=True):
            if isinstance(each, Delete):
                self._remove(key)
            elif isinstance(each, Record):
                self._put(key, each)
            elif isinstance(each, Add):
                self._add(key, each)

    def put_many(self, records: Iterable[Record]) -> None:
        by_key = {record.key: record for record in records}
        self._count("BatchWriteItem", *{key.table for key in by_key}, calls=-(-len(by_key) // 25))
        for key, record in by_key.items():
            self._put(key, record)

    def _put(self, key: Key, record: Any) -> None:
        self._remove(key)
        self._records[key] = self._kinds.setdefault(type(record), {})[key] = with_next_version(record)
        insort(self._sorted.setdefault((key.table, key.pk), []), key.sk)
        if record.next_due is not None:
            self._due.setdefault((key.table, _shard(record, key)), {})[key] = record.next_due

        for index, name in record.listed.items():
            self._lists.setdefault((key.table, index, name), {})[record.listed_at] = key

    def _add(self, key: Key, add: Add) -> None:
        counts = _counts_of(type(add.record))
        record = self._records.get(key, replace(add.record, **{counts: {}}))  # type: ignore[type-var]
        total = dict(getattr(record, counts))
        for name, amount in add.amounts.items():
            total[name] = total.get(name, 0) + amount
        self._put(key, replace(record, version=record.version - 1, **{counts: total}))

    def _remove(self, key: Key) -> None:
        record = self._records.pop(key, None)
        if record is not None:
            self._kinds[type(record)].pop(key)
            for index, name in record.listed.items():
                self._lists[key.table, index, name].pop(record.listed_at)
            self._sorted[key.table, key.pk].remove(key.sk)
            if record.next_due is not None:
                self._due[key.table, _shard(record, key)].pop(key)

    def _count(self, operation: str, *resources: str, calls: int = 1) -> None:
        if calls:
            self.calls[operation] = self.calls.get(operation, 0) + calls
            for resource in resources:
                aws_calls.record_call(f"dynamodb:{operation}", resource)


@cache
def _counts_of(cls: type[Record]) -> str:
    """The name of the field with counts."""
    (name,) = [name for name, hint in get_type_hints(cls).items() if hint is Counts]
    return name


def _action(write: Write) -> str:
    """What IAM calls a write."""
    match write:
        case Absent() | Unchanged():
            return "ConditionCheckItem"
        case Delete():
            return "DeleteItem"
        case Add():
            return "UpdateItem"
    return "UpdateItem" if write.version else "PutItem"


def _table_of(write: Write) -> str:
    return write.key.table if isinstance(write, Record) else write.record.key.table


def _shard(record: Record, key: Key) -> str:
    return f"{record.DUE_GROUP}{sha256(key.pk.encode()).digest()[0] % DUE_SHARDS}"
