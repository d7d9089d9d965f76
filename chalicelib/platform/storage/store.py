"""Reads of DynamoDB records, and transactions that write whole records with optimistic locking.

The `version` of a record is the number of times it was written. A write requires that the stored version is still the
one that was read (0: that the record does not exist) and stores the next one. So every write that can race is
conditional, and a decision is never applied to another state than the one it was made for.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cached_property, partial
from random import uniform
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self, TypeVar

from chalicelib.base.lists import Found, Span
from chalicelib.base.parallel import each_done
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, Key, KeyRange, Record
from chalicelib.platform.storage import codec, counters, lists
from chalicelib.platform.storage import items as stored_items
from chalicelib.platform.storage.clients import CHANGED, CONTENTION, THROTTLES, aws_client
from chalicelib.platform.storage.clients import Throttled as Throttled
from chalicelib.platform.storage.writes import Absent as Absent
from chalicelib.platform.storage.writes import Add as Add
from chalicelib.platform.storage.writes import Delete as Delete
from chalicelib.platform.storage.writes import Unchanged as Unchanged
from chalicelib.platform.storage.writes import Write as Write
from chalicelib.platform.storage.writes import with_next_version as with_next_version

if TYPE_CHECKING:
    from chalicelib.platform.storage.scans import Scanned

T = TypeVar("T", bound=Record)
W = TypeVar("W", bound=Write)
C = TypeVar("C")
R = TypeVar("R")
DUE_INDEX = "by_due"
"""The sparse index (due_shard, due_at) of the records that a sweep has to process (`Record.next_due`)."""
LARGEST_TRANSACTION = 99
"""The most writes of one transaction: DynamoDB accepts 100, and `Store.joined` may add one."""
AT_ONCE = 8
"""How many calls of one batch read or write are made at the same time; below botocore's 10 connections."""
_LARGEST_BATCH_READ, _LARGEST_BATCH_WRITE = 100, 25
"""The numbers of keys and of writes that DynamoDB accepts in one BatchGetItem and one BatchWriteItem."""
_CONTENTION_ATTEMPTS = 8
_LONGEST_SORT_KEY = 200  # characters; DynamoDB accepts 1024 bytes


class WriteConflict(Exception):
    """One of the records was changed since it was read. Nothing was written: load the records and decide again."""


Join = Callable[[Callable[..., None], Sequence[Write]], None]
"""Applies the writes of a transaction by the given function, with one of its own, or does not. Raises WriteConflict."""


class Store:
    def __init__(self, prefix: str, client: Any = None, at_once: int = AT_ONCE) -> None:
        """`at_once` is how many calls of one batch read or write are made at the same time."""
        self.prefix = prefix
        self._at_once = at_once
        self._join: Join = lambda apply, writes: apply(*writes)
        self.end: Callable[[], datetime | None] = lambda: None  # from when records may be deleted (`items.item_of`)
        if client is not None:
            self.client = client

    @cached_property
    def client(self) -> Any:
        return aws_client("dynamodb")

    def with_join(self, join: Join) -> Self:
        """A store whose `write` goes through `join`, then through what joins this one; counts and `put_many` do not."""
        store, outer = copy(self), self._join
        store._join = lambda apply, writes: join(lambda *joined: outer(apply, joined), writes)
        return store

    @property
    def apart(self) -> Self:
        """This store without what it joins to its writes, which are no steps of the request that is served then."""
        store = copy(self)
        store._join = lambda apply, writes: apply(*writes)
        return store

    def get(self, cls: type[T], key: Key) -> T | None:
        """One record, by a consistent read unless its kind MAY_LAG; None if it does not exist."""
        response = self.client.get_item(**self._table_and_key(key), ConsistentRead=not cls.MAY_LAG)
        return stored_items.record_of(cls, response["Item"]) if "Item" in response else None

    def get_many(self, wanted: Mapping[Key, type[Record]]) -> dict[Key, Any]:
        """The wanted records that exist, of any tables, 100 keys a call. Raises Throttled.

        The reads are consistent, but for a table of which only kinds are wanted that MAY_LAG.
        """
        items = self._for_each(_chunks(list(wanted.items()), _LARGEST_BATCH_READ), self._get_batch)
        return {key: stored_items.record_of(wanted[key], item) for of_chunk in items for key, item in of_chunk}

    def _get_batch(self, wanted: Sequence[tuple[Key, type[Record]]]) -> list[tuple[Key, codec.Attributes]]:
        """The items of up to 100 keys that exist, with their keys."""
        unread: dict[str, Any] = {}
        for key, kind in wanted:
            of_table = unread.setdefault(self._table(key.table), {"Keys": [], "ConsistentRead": False})
            of_table["Keys"].append(stored_items.attributes_of(key))
            of_table["ConsistentRead"] |= not kind.MAY_LAG
        found: list[tuple[Key, codec.Attributes]] = []
        for attempt in range(_CONTENTION_ATTEMPTS):
            read, unread = self._read_batch(unread)
            found += read
            if not unread:
                return found
            time.sleep(0.01 * 2**attempt)
        raise Throttled

    def _read_batch(self, unread: dict[str, Any]) -> tuple[list[tuple[Key, codec.Attributes]], dict[str, Any]]:
        """Sends one BatchGetItem; returns what it read, and what DynamoDB did not read: everything if it throttles."""
        try:
            response = self.client.batch_get_item(RequestItems=unread)
        except self.client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in THROTTLES:
                return [], unread
            raise
        read = [
            (Key(table.removeprefix(f"{self.prefix}-"), item["pk"]["S"], item["sk"]["S"]), item)
            for table, items in response["Responses"].items()
            for item in items
        ]
        return read, response.get("UnprocessedKeys", {})

    def _for_each(self, chunks: Iterable[C], call: Callable[[C], R]) -> list[R]:
        """The results of a call for each chunk, in order; several at once, so that many chunks do not take long."""
        return each_done(call, list(chunks), self._at_once)

    def query(self, cls: type[T], keys: KeyRange, limit: int | None = None) -> tuple[T, ...]:
        """All records in a range of keys, or the first `limit`, in the order of their keys, by a consistent read."""
        return tuple(stored_items.record_of(cls, item) for item in self._query(keys, limit))

    def query_mixed(self, kinds: Iterable[type[Record]], pk: str, *, may_lag: bool = False) -> list[Any]:
        """The records of some kinds, all of one table, in a partition, in the order of their keys. It is read whole.

        By a consistent read, unless they `may_lag`: as they were a second ago, for half the units.
        """
        by_name = {cls.KEY.kind: cls for cls in kinds}
        table = next(iter(by_name.values())).KEY.table
        items = self._query(KeyRange(table, pk, FIRST_SORT_KEY, LAST_SORT_KEY), may_lag=may_lag)
        found = ((by_name.get(item["sk"]["S"].split("#")[0]), item) for item in items)
        return [stored_items.record_of(kind, item) for kind, item in found if kind is not None]

    def page(
        self, cls: type[T], pk: str, before: str | None, limit: int, *, consistent: bool = False
    ) -> tuple[tuple[T, ...], str | None]:
        """Up to `limit` records of a partition in descending order of sort keys below `before`, and the next cursor."""
        below = (before or LAST_SORT_KEY)[:_LONGEST_SORT_KEY]
        response = self.client.query(
            TableName=self._table(cls.KEY.table),
            KeyConditionExpression="pk = :pk AND sk < :before",
            ExpressionAttributeValues={":pk": {"S": pk}, ":before": {"S": below}},
            ScanIndexForward=False,
            Limit=limit,
            ConsistentRead=consistent,
        )
        items = response["Items"]
        next_cursor = items[-1]["sk"]["S"] if "LastEvaluatedKey" in response and items else None
        return tuple(stored_items.record_of(cls, item) for item in items), next_cursor

    def newest_of_each(self, cls: type[T], partitions: Sequence[str]) -> list[T]:
        """The record with the highest sort key of each partition that has one; one consistent query each."""
        pages = self._for_each(partitions, lambda pk: self.page(cls, pk, None, 1, consistent=True)[0])
        return [record for found in pages for record in found]

    def head(self, cls: type[T], pk: str, after: str | None, limit: int) -> tuple[T, ...]:
        """The first `limit` records of a partition in the order of sort keys above `after`, by a consistent read."""
        above = (after or FIRST_SORT_KEY)[:_LONGEST_SORT_KEY]
        response = self.client.query(
            TableName=self._table(cls.KEY.table),
            KeyConditionExpression="pk = :pk AND sk > :after",
            ExpressionAttributeValues={":pk": {"S": pk}, ":after": {"S": above}},
            ConsistentRead=True,
            Limit=limit,
        )
        return tuple(stored_items.record_of(cls, item) for item in response["Items"])

    def count_in_each(self, counters: Sequence[tuple[Record, int]]) -> list[int | None]:
        """`count` of one in several records, each with its limit, at the same time."""
        return self._for_each(counters, lambda each: self.count(*each))

    def count(self, counter: Record, limit: int, amount: int = 1) -> int | None:
        """Adds an amount to the attribute `calls` of a record and returns the new count.

        If that would exceed `limit`, adds nothing and returns None. One conditional write, so the count is exact under
        concurrent calls. Only the record's key and `vanishes_at` are used. Raises Throttled if DynamoDB refuses the
        write: above a thousand calls a second, or while a table grows.
        A call whose response was lost is counted again: only for limits of rates, where one call does not matter.
        """
        return counters.add(self._update_of(counter), counter.vanishes_at, limit, amount)

    def uncount(self, counter: Record, amount: int = 1) -> None:
        """Subtracts an amount from a count, or twice if a response was lost, but never below 0. Raises Throttled."""
        counters.subtract(self._update_of(counter), amount)

    def _update_of(self, counter: Record) -> counters.Update:
        return partial(self.client.update_item, **self._table_and_key(counter.key))

    def due(
        self, cls: type[Record], before: datetime, limit: int, first_shard: int = 0, since: datetime | None = None
    ) -> Iterator[Key]:
        """Keys of records that are due, in each shard the longest overdue first; at most `limit` per shard.

        Includes all kinds of records that have the same table and group as `cls`. Those that were due before `since`
        are left out. The shards are read in turn, from `first_shard` modulo their number: a sweep that may stop early
        begins at a random one. One query per shard and page of 1 MB, made when the iteration arrives there.
        """
        table, group = cls.KEY.table, cls.DUE_GROUP
        earliest = codec.epoch_milliseconds(since) if since is not None else 0
        values = {":since": {"N": str(earliest)}, ":before": {"N": str(codec.epoch_milliseconds(before))}}
        for offset in range(stored_items.DUE_SHARDS):
            shard = (first_shard + offset) % stored_items.DUE_SHARDS
            left, start = limit, dict[str, Any]()
            while left > 0:
                response = self.client.query(
                    TableName=self._table(table),
                    IndexName=DUE_INDEX,
                    KeyConditionExpression="due_shard = :shard AND due_at BETWEEN :since AND :before",
                    ExpressionAttributeValues={":shard": {"S": f"{group}{shard}"}, **values},
                    Limit=left,
                    **start,
                )
                for item in response["Items"]:
                    yield Key(table, item["pk"]["S"], item["sk"]["S"])
                if "LastEvaluatedKey" not in response:
                    break
                left, start = left - len(response["Items"]), {"ExclusiveStartKey": response["LastEvaluatedKey"]}

    def newest(self, cls: type[T], span: Span, limit: int, queries: int = 1) -> Found[T]:
        """Up to `limit` records of a span of a list, the newest first, by at most `queries` queries.

        One is enough unless the span leaves records out or has over 1 MB. Lists lag by about a second.
        """
        items, end = lists.read(self._query_of(cls), span, limit, queries)
        return Found(tuple(stored_items.record_of(cls, item) for item in items), end)

    def oldest(self, cls: type[T], span: Span, limit: int, queries: int = 1) -> Found[T]:
        """Up to `limit` records of a span of a list, the oldest first, by at most `queries` queries; as `newest`."""
        items, end = lists.read(self._query_of(cls), span, limit, queries, oldest_first=True)
        return Found(tuple(stored_items.record_of(cls, item) for item in items), end)

    def count_listed(self, cls: type[Record], span: Span, queries: int) -> tuple[int, bool]:
        """The number of records in a span of a list, by one query for each MB, and whether it is exact.

        If that takes more `queries`, there are at least so many.
        """
        return lists.count(self._query_of(cls), span, queries)

    def _query_of(self, cls: type[Record]) -> lists.Query:
        return partial(self.client.query, TableName=self._table(cls.KEY.table))

    def scan(self, kinds: Sequence[type[Record]], segment: int = 0, segments: int = 1) -> Iterator[tuple[Record, bool]]:
        """Every record of some kinds of one table, or of a part of it, each with whether it is in its lists."""
        from chalicelib.platform.storage import scans  # few processes scan

        return scans.every(self._scan_of(kinds), kinds, segment, segments)

    def scan_on(self, kinds: Sequence[type[Record]], after: Key | None) -> "tuple[list[Scanned], Key | None]":
        """The records of some kinds on the next MB of their table, and where that ends: the `after` of the next call.

        None begins at the table's start, and is returned at its end. Records may lack changes of the last second.
        """
        from chalicelib.platform.storage import scans  # as above

        return scans.part(self._scan_of(kinds), kinds, after)

    def _scan_of(self, kinds: Sequence[type[Record]]) -> Callable[..., Any]:
        return partial(self.client.scan, TableName=self._table(kinds[0].KEY.table))

    def write(self, first: W, *others: Write) -> W:
        """Applies all writes or none: records, `Delete`s, `Add`s, checks, at most LARGEST_TRANSACTION.

        Returns the first one, a record with its new version. Raises WriteConflict if a version is not the expected one.
        Retries while another transaction holds a record, which DynamoDB reports before it checks conditions. A single
        record needs no transaction, at half the price. Attributes of a stored item that its class does not know stay:
        newer code has written them (`items.update_of`).

        A write that was applied and whose response was lost is sent again and is no conflict with itself: all attempts
        at a transaction have one token, and a single write stores a random `write_id`.
        """
        self._join(self._apply, (first, *others))
        return with_next_version(first) if isinstance(first, Record) else first

    def _apply(self, *writes: Write) -> None:
        write_id = token_hex(12)
        send = self._sender(writes, write_id)
        for attempt in range(_CONTENTION_ATTEMPTS):
            try:
                send()
                return
            except self.client.exceptions.ClientError as error:  # by codes: the classes differ between clients
                if error.response.get("Item", {}).get("write_id") == {"S": write_id}:
                    return
                causes = (error.response["Error"], *error.response.get("CancellationReasons", ()))
                codes = {cause.get("Code") for cause in causes}
                if codes & CHANGED:
                    raise WriteConflict from error
                if not codes & CONTENTION:
                    raise
            time.sleep(uniform(0.01, 0.02) * 2**attempt)  # not in step with the others that add to a count
        raise WriteConflict

    def _sender(self, writes: Sequence[Write], write_id: str) -> Callable[[], Any]:
        """The call that applies some writes: a put or an update of a single record, a transaction otherwise."""
        if len(writes) == 1 and isinstance(writes[0], Record):
            ((kind, parameters),) = self._record(writes[0], write_id).items()
            call = self.client.put_item if kind == "Put" else self.client.update_item
            return partial(call, **parameters, ReturnValuesOnConditionCheckFailure="ALL_OLD")
        actions = [self._action(write) for write in writes]
        return partial(self.client.transact_write_items, TransactItems=actions, ClientRequestToken=write_id)

    def put_many(self, records: Iterable[Record]) -> None:
        """Puts records of any tables, 25 per call, in place of stored ones: no version is checked.

        Only for records that whoever writes them again writes with the same content, so that nothing changes, except
        that older code drops the attributes that newer code has added. Not one transaction: after an error some may be
        written; write all again. Raises Throttled.
        """
        items = {each.key: stored_items.item_of(each, each.key, self.end()) for each in records}
        puts = {key: {"PutRequest": {"Item": item}} for key, item in items.items()}
        self._for_each(_chunks(list(puts.items()), _LARGEST_BATCH_WRITE), self._put_batch)

    def _put_batch(self, puts: Sequence[tuple[Key, dict[str, Any]]]) -> None:
        """Writes up to 25 items."""
        unwritten: dict[str, Any] = {}
        for key, put in puts:
            unwritten.setdefault(self._table(key.table), []).append(put)
        for attempt in range(_CONTENTION_ATTEMPTS):
            unwritten = self._write_batch(unwritten)
            if not unwritten:
                return
            time.sleep(0.01 * 2**attempt)
        raise Throttled

    def _write_batch(self, requests: dict[str, Any]) -> dict[str, Any]:
        """Sends one BatchWriteItem; returns the requests that DynamoDB did not process, all of them if it throttles."""
        try:
            response = self.client.batch_write_item(RequestItems=requests)
        except self.client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in THROTTLES:
                return requests
            raise
        unprocessed: dict[str, Any] = response.get("UnprocessedItems", {})
        return unprocessed

    def _query(self, keys: KeyRange, limit: int | None = None, *, may_lag: bool = False) -> list[codec.Attributes]:
        parameters: dict[str, Any] = {
            "TableName": self._table(keys.table),
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":pk": {"S": keys.pk},
                ":first": {"S": keys.first},
                ":last": {"S": keys.last},
            },
            "ConsistentRead": not may_lag,
            **({"Limit": limit} if limit else {}),
        }
        items: list[codec.Attributes] = []
        while True:
            response = self.client.query(**parameters)
            items += response["Items"]
            if "LastEvaluatedKey" not in response or (limit and len(items) >= limit):
                return items[:limit]
            parameters["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def _action(self, write: Write) -> dict[str, Any]:
        match write:
            case Absent(record):
                return {"ConditionCheck": {**self._table_and_key(record.key), **stored_items.version_is(0)}}
            case Unchanged(record):
                return {
                    "ConditionCheck": {**self._table_and_key(record.key), **stored_items.version_is(record.version)}
                }
            case Delete(record):
                return {"Delete": {**self._table_and_key(record.key), **stored_items.version_is(record.version)}}
            case Add(record, amounts):
                counts = stored_items.add_of(record, amounts, self.end())
                return {"Update": {**self._table_and_key(record.key), **counts}}
        return self._record(write)

    def _record(self, record: Record, write_id: str | None = None) -> dict[str, Any]:
        """The put of a new record, or the update of a stored one."""
        written = (record, record.key, write_id, self.end())
        if record.version == 0:
            return {"Put": {"TableName": self._table(record.key.table), **stored_items.put_of(*written)}}
        return {"Update": {**self._table_and_key(record.key), **stored_items.update_of(*written)}}

    def _table_and_key(self, key: Key) -> dict[str, Any]:
        return {"TableName": self._table(key.table), "Key": stored_items.attributes_of(key)}

    def _table(self, name: str) -> str:
        return f"{self.prefix}-{name}"


def _chunks(values: Sequence[C], size: int) -> Iterator[Sequence[C]]:
    return (values[start : start + size] for start in range(0, len(values), size))
