"""Reads of DynamoDB records, and transactions that write whole records with optimistic locking.

The `version` of a record is the number of times it was written. A write requires that the stored version is still the
one that was read (0: that the record does not exist) and stores the next one. So every write that can race is
conditional, and a decision is never applied to another state than the one it was made for.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, Key, KeyRange, Record
from chalicelib.storage import codec
from chalicelib.storage.clients import aws_client

T = TypeVar("T", bound=Record)
DUE_INDEX = "by_due"
"""The sparse index (due_shard, due_at) of the records that a sweep has to process (`Record.next_due`)."""
DUE_SHARDS = 8
"""The number of partitions for each group of the index, which share its writes."""
LARGEST_TRANSACTION = 100
"""The number of writes that DynamoDB accepts in one transaction."""
_CONTENTION_ATTEMPTS = 8
_LONGEST_SORT_KEY = 200  # characters; DynamoDB accepts 1024 bytes
_THROTTLES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}


class WriteConflict(Exception):
    """One of the records was changed since it was read. Nothing was written: load the records and decide again."""


class Throttled(Exception):
    """DynamoDB refuses these calls at the moment because there are too many."""


@frozen
class Delete:
    """Deletes a record if it still has the version that was read."""

    record: Record


@frozen
class Absent:
    """Requires that no record with this record's key exists; writes nothing."""

    record: Record


Write = Record | Delete | Absent


class Store:
    def __init__(self, prefix: str, client: Any = None) -> None:
        self.prefix = prefix
        if client is not None:
            self.client = client

    @cached_property
    def client(self) -> Any:
        return aws_client("dynamodb")

    def get(self, cls: type[T], key: Key) -> T | None:
        """One record, by a consistent read; None if it does not exist."""
        response = self.client.get_item(**self._table_and_key(key), ConsistentRead=True)
        return codec.decode(cls, response["Item"]) if "Item" in response else None

    def get_many(self, wanted: Mapping[Key, type[Record]]) -> dict[Key, Any]:
        """The wanted records that exist, of any tables, by consistent reads of 100 keys a call. Raises Throttled."""
        records: dict[Key, Any] = {}
        keys = list(wanted)
        for start in range(0, len(keys), 100):
            unread: dict[str, Any] = {}
            for key in keys[start : start + 100]:
                of_table = unread.setdefault(self._table(key.table), {"Keys": [], "ConsistentRead": True})
                of_table["Keys"].append(_key(key))
            for attempt in range(_CONTENTION_ATTEMPTS):
                response = self.client.batch_get_item(RequestItems=unread)
                for table, items in response["Responses"].items():
                    for item in items:
                        key = Key(table.removeprefix(f"{self.prefix}-"), item["pk"]["S"], item["sk"]["S"])
                        records[key] = codec.decode(wanted[key], item)
                unread = response.get("UnprocessedKeys", {})
                if not unread:
                    break
                time.sleep(0.01 * 2**attempt)
            else:
                raise Throttled
        return records

    def query(self, cls: type[T], keys: KeyRange) -> tuple[T, ...]:
        """All records in a range of keys, in the order of their keys, by a consistent read."""
        return tuple(codec.decode(cls, item) for item in self._query(keys))

    def query_mixed(self, kinds: Iterable[type[Record]], pk: str) -> list[Any]:
        """All records of a partition, in the order of their keys. `kinds` are those it holds, all of one table."""
        by_name = {cls.KEY.kind: cls for cls in kinds}
        table = next(iter(by_name.values())).KEY.table
        items = self._query(KeyRange(table, pk, FIRST_SORT_KEY, LAST_SORT_KEY))
        return [codec.decode(by_name[item["sk"]["S"].split("#")[0]], item) for item in items]

    def page(self, cls: type[T], pk: str, before: str | None, limit: int) -> tuple[tuple[T, ...], str | None]:
        """Up to `limit` records of a partition in descending order of sort keys below `before`, and the next cursor."""
        below = (before or LAST_SORT_KEY)[:_LONGEST_SORT_KEY]
        response = self.client.query(
            TableName=self._table(cls.KEY.table),
            KeyConditionExpression="pk = :pk AND sk < :before",
            ExpressionAttributeValues={":pk": {"S": pk}, ":before": {"S": below}},
            ScanIndexForward=False,
            Limit=limit,
        )
        items = response["Items"]
        next_cursor = items[-1]["sk"]["S"] if "LastEvaluatedKey" in response and items else None
        return tuple(codec.decode(cls, item) for item in items), next_cursor

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
        return tuple(codec.decode(cls, item) for item in response["Items"])

    def count(self, counter: Record, limit: int) -> int | None:
        """Adds one to the attribute `calls` of a record and returns the new count; None if it is already `limit`.

        One conditional write, so the count is exact under concurrent calls. Only the record's key and `vanishes_at` are
        used. Raises Throttled if DynamoDB refuses the write: above a thousand calls a second, or while a table grows.
        """
        errors = self.client.exceptions
        try:
            response = self.client.update_item(
                **self._table_and_key(counter.key),
                UpdateExpression="SET #ttl = :ttl ADD calls :one",
                ConditionExpression="attribute_not_exists(calls) OR calls < :limit",
                ExpressionAttributeNames={"#ttl": "ttl"},
                ExpressionAttributeValues={
                    ":one": {"N": "1"},
                    ":limit": {"N": str(limit)},
                    ":ttl": _ttl(counter.vanishes_at),
                },
                ReturnValues="UPDATED_NEW",
            )
        except errors.ConditionalCheckFailedException:
            return None
        except errors.ClientError as error:
            if error.response["Error"]["Code"] in _THROTTLES:
                raise Throttled from error
            raise
        return int(response["Attributes"]["calls"]["N"])

    def uncount(self, counter: Record) -> None:
        """Subtracts one from a count. Raises Throttled as `count` does."""
        errors = self.client.exceptions
        try:
            self.client.update_item(
                **self._table_and_key(counter.key),
                UpdateExpression="ADD calls :less",
                ConditionExpression="calls > :none",
                ExpressionAttributeValues={":less": {"N": "-1"}, ":none": {"N": "0"}},
            )
        except errors.ConditionalCheckFailedException:
            return  # the record has expired
        except errors.ClientError as error:
            if error.response["Error"]["Code"] in _THROTTLES:
                raise Throttled from error
            raise

    def due(self, cls: type[Record], before: datetime, limit: int, first_shard: int = 0) -> Iterator[Key]:
        """Keys of records that are due, in each shard the longest overdue first; at most `limit` per shard.

        Includes all kinds of records that have the same table and group as `cls`. Begins at any `first_shard`.
        """
        table, group = cls.KEY.table, cls.DUE_GROUP
        for shard in ((first_shard + number) % DUE_SHARDS for number in range(DUE_SHARDS)):
            response = self.client.query(
                TableName=self._table(table),
                IndexName=DUE_INDEX,
                KeyConditionExpression="due_shard = :shard AND due_at <= :before",
                ExpressionAttributeValues={
                    ":shard": {"S": f"{group}{shard}"},
                    ":before": {"N": str(codec.epoch_milliseconds(before))},
                },
                Limit=limit,
            )
            for item in response["Items"]:
                yield Key(table, item["pk"]["S"], item["sk"]["S"])

    def write(self, *writes: Write) -> None:
        """Applies all writes or none: records, `Delete`s and `Absent` checks, at most 100.

        Raises WriteConflict if a version is not the expected one. Retries while another transaction holds a record,
        which DynamoDB reports before it checks conditions. A single record is put without a transaction, at half price.
        """
        actions = [self._action(write) for write in writes]
        errors = self.client.exceptions
        for attempt in range(_CONTENTION_ATTEMPTS):
            try:
                if len(actions) == 1 and "Put" in actions[0]:
                    self.client.put_item(**actions[0]["Put"])
                else:
                    self.client.transact_write_items(TransactItems=actions)
                return
            except errors.ConditionalCheckFailedException as error:
                raise WriteConflict from error
            except errors.TransactionCanceledException as error:
                codes = {reason.get("Code") for reason in error.response["CancellationReasons"]}
                if "ConditionalCheckFailed" in codes:
                    raise WriteConflict from error
                if not codes & {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}:
                    raise
            except errors.TransactionConflictException:
                pass  # another transaction holds the record
            time.sleep(0.01 * 2**attempt)
        raise WriteConflict

    def _query(self, keys: KeyRange) -> list[codec.Attributes]:
        parameters = {
            "TableName": self._table(keys.table),
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":pk": {"S": keys.pk},
                ":first": {"S": keys.first},
                ":last": {"S": keys.last},
            },
            "ConsistentRead": True,
        }
        items: list[codec.Attributes] = []
        while True:
            response = self.client.query(**parameters)
            items += response["Items"]
            if "LastEvaluatedKey" not in response:
                return items
            parameters["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    def _action(self, write: Write) -> dict[str, Any]:
        match write:
            case Absent(record):
                return {"ConditionCheck": {**self._table_and_key(record.key), **_version_is(0)}}
            case Delete(record):
                return {"Delete": {**self._table_and_key(record.key), **_version_is(record.version)}}
        key = write.key
        return {"Put": {"TableName": self._table(key.table), "Item": item_of(write, key), **_version_is(write.version)}}

    def _table_and_key(self, key: Key) -> dict[str, Any]:
        return {"TableName": self._table(key.table), "Key": _key(key)}

    def _table(self, name: str) -> str:
        return f"{self.prefix}-{name}"


def item_of(record: Record, key: Key) -> codec.Attributes:
    """The item that is written for a record: its fields, the next version, its key and its index attributes."""
    item = {**codec.encode(record), **_key(key), **_index(record, key)}
    item["version"] = {"N": str(record.version + 1)}
    return item


def _key(key: Key) -> codec.Attributes:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _index(record: Record, key: Key) -> codec.Attributes:
    attributes: codec.Attributes = {}
    if (due := record.next_due) is not None:
        shard = sha256(key.pk.encode()).digest()[0] % DUE_SHARDS  # a rewritten item stays in its shard
        attributes["due_shard"] = {"S": f"{record.DUE_GROUP}{shard}"}
        attributes["due_at"] = {"N": str(codec.epoch_milliseconds(due))}
    if (vanishes_at := record.vanishes_at) is not None:
        attributes["ttl"] = _ttl(vanishes_at)
    return attributes


def _ttl(vanishes_at: datetime | None) -> dict[str, str]:
    assert vanishes_at is not None, "counters are deleted after their window"
    return {"N": str(codec.epoch_milliseconds(vanishes_at) // 1000)}


def _version_is(version: int) -> dict[str, Any]:
    if version == 0:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": {"N": str(version)}},
    }
