"""DynamoDB: reads, and transactions of whole records with optimistic versions.

Every record carries `version`, the number of times it was written. Writing a record requires that the stored version
is still the one it was read with (0: that it does not exist yet), and stores one more. So every write that can race is
conditional, and no decision is applied to a state that it was not made for.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, Key, KeyRange, Record
from chalicelib.storage import codec
from chalicelib.storage.clients import aws_client

T = TypeVar("T", bound=Record)
DUE_INDEX = "by_due"
"""The sparse index (due_shard, due_at) of the records that a sweep has to look at (`Record.next_due`)."""
DUE_SHARDS = 8
"""How many partitions each group of the index is spread over, so that no partition takes all writes."""
LARGEST_TRANSACTION = 100
"""How many writes DynamoDB takes in one transaction."""
_CONTENTION_ATTEMPTS = 8
_LONGEST_SORT_KEY = 200  # characters; DynamoDB takes 1024 bytes
_THROTTLES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}


class WriteConflict(Exception):
    """Somebody else wrote one of the records first; nothing of the transaction was applied. Load and decide again."""


class Throttled(Exception):
    """DynamoDB takes no more of these calls at the moment."""


@dataclass(frozen=True)
class Delete:
    """Removes a record, if it still has the version it was read with."""

    record: Record


@dataclass(frozen=True)
class Absent:
    """Requires that a record does not exist, without writing anything: found by its key alone."""

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
        answer = self.client.get_item(TableName=self._table(key.table), Key=_key(key), ConsistentRead=True)
        return codec.decode(cls, answer["Item"]) if "Item" in answer else None

    def get_many(self, wanted: Mapping[Key, type[Record]]) -> dict[Key, Any]:
        """The records that exist, by consistent reads of 100 keys a call, of any tables. Raises Throttled."""
        found: dict[Key, Any] = {}
        keys = list(wanted)
        for start in range(0, len(keys), 100):
            ask: dict[str, Any] = {}
            for key in keys[start : start + 100]:
                of_table = ask.setdefault(self._table(key.table), {"Keys": [], "ConsistentRead": True})
                of_table["Keys"].append(_key(key))
            for attempt in range(_CONTENTION_ATTEMPTS):
                answer = self.client.batch_get_item(RequestItems=ask)
                for table, items in answer["Responses"].items():
                    for item in items:
                        key = Key(table.removeprefix(f"{self.prefix}-"), item["pk"]["S"], item["sk"]["S"])
                        found[key] = codec.decode(wanted[key], item)
                ask = answer.get("UnprocessedKeys", {})
                if not ask:
                    break
                time.sleep(0.01 * 2**attempt)
            else:
                raise Throttled
        return found

    def query(self, cls: type[T], keys: KeyRange) -> tuple[T, ...]:
        """Every record of a range of keys, in their order, by a consistent read."""
        return tuple(codec.decode(cls, item) for item in self._query(keys))

    def query_mixed(self, kinds: Iterable[type[Record]], pk: str) -> list[Any]:
        """Every record of a partition that holds records of these kinds of one table, in the order of their keys."""
        by_name = {cls.KEY.kind: cls for cls in kinds}
        table = next(iter(by_name.values())).KEY.table
        items = self._query(KeyRange(table, pk, FIRST_SORT_KEY, LAST_SORT_KEY))
        return [codec.decode(by_name[item["sk"]["S"].split("#")[0]], item) for item in items]

    def page(self, cls: type[T], pk: str, before: str | None, limit: int) -> tuple[tuple[T, ...], str | None]:
        """Up to `limit` records of a partition from the highest sort key below `before` down, and the next cursor."""
        below = (before or LAST_SORT_KEY)[:_LONGEST_SORT_KEY]
        answer = self.client.query(
            TableName=self._table(cls.KEY.table),
            KeyConditionExpression="pk = :pk AND sk < :before",
            ExpressionAttributeValues={":pk": {"S": pk}, ":before": {"S": below}},
            ScanIndexForward=False,
            Limit=limit,
        )
        items = answer["Items"]
        following = items[-1]["sk"]["S"] if "LastEvaluatedKey" in answer and items else None
        return tuple(codec.decode(cls, item) for item in items), following

    def count(self, counter: Record, limit: int) -> int | None:
        """Adds one to the attribute `calls` of a record, in one conditional write; None when it is `limit` already.

        Returns the new count, which is exact however many callers race. Of the record only its key and `vanishes_at`
        are used.

        Raises Throttled when DynamoDB takes no more writes to it: more than a thousand calls a second, or a table that
        is growing.
        """
        failures = self.client.exceptions
        try:
            answer = self.client.update_item(
                **self._place(counter.key),
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
        except failures.ConditionalCheckFailedException:
            return None
        except failures.ClientError as error:
            if error.response["Error"]["Code"] in _THROTTLES:
                raise Throttled from error
            raise
        return int(answer["Attributes"]["calls"]["N"])

    def uncount(self, counter: Record) -> None:
        """Takes one count back. Raises Throttled as `count` does."""
        failures = self.client.exceptions
        try:
            self.client.update_item(
                **self._place(counter.key),
                UpdateExpression="ADD calls :less",
                ConditionExpression="calls > :none",
                ExpressionAttributeValues={":less": {"N": "-1"}, ":none": {"N": "0"}},
            )
        except failures.ConditionalCheckFailedException:
            return  # the record has vanished, and its count with it
        except failures.ClientError as error:
            if error.response["Error"]["Code"] in _THROTTLES:
                raise Throttled from error
            raise

    def due(self, cls: type[Record], before: datetime, limit: int) -> Iterator[Key]:
        """Keys of records that are due, the longest overdue of each shard first; at most `limit` a shard.

        They are of every kind that shares table and group with `cls`.
        """
        table, group = cls.KEY.table, cls.DUE_GROUP
        for shard in range(DUE_SHARDS):
            answer = self.client.query(
                TableName=self._table(table),
                IndexName=DUE_INDEX,
                KeyConditionExpression="due_shard = :shard AND due_at <= :before",
                ExpressionAttributeValues={
                    ":shard": {"S": f"{group}{shard}"},
                    ":before": {"N": str(codec.epoch_milliseconds(before))},
                },
                Limit=limit,
            )
            for item in answer["Items"]:
                yield Key(table, item["pk"]["S"], item["sk"]["S"])

    def write(self, *writes: Write) -> None:
        """All of the writes or none: records, `Delete`s and `Absent` checks; at most 100.

        Raises WriteConflict when a version is not the expected one. Contention that DynamoDB reports before it looks
        at conditions is tried again. A record alone is put without a transaction, at half the price.
        """
        actions = [self._action(write) for write in writes]
        failures = self.client.exceptions
        for attempt in range(_CONTENTION_ATTEMPTS):
            try:
                if len(actions) == 1 and "Put" in actions[0]:
                    self.client.put_item(**actions[0]["Put"])
                else:
                    self.client.transact_write_items(TransactItems=actions)
                return
            except failures.ConditionalCheckFailedException as error:
                raise WriteConflict from error
            except failures.TransactionCanceledException as error:
                codes = {reason.get("Code") for reason in error.response["CancellationReasons"]}
                if "ConditionalCheckFailed" in codes:
                    raise WriteConflict from error
                if not codes & {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}:
                    raise
            except failures.TransactionConflictException:
                pass  # a transaction holds the record this very moment
            time.sleep(0.01 * 2**attempt)
        raise WriteConflict

    def _query(self, keys: KeyRange) -> list[codec.Attributes]:
        question = {
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
            answer = self.client.query(**question)
            items += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return items
            question["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _action(self, write: Write) -> dict[str, Any]:
        match write:
            case Absent(record):
                return {"ConditionCheck": {**self._place(record.key), **_version_is(0)}}
            case Delete(record):
                return {"Delete": {**self._place(record.key), **_version_is(record.version)}}
        key = write.key
        return {"Put": {"TableName": self._table(key.table), "Item": item_of(write, key), **_version_is(write.version)}}

    def _place(self, key: Key) -> dict[str, Any]:
        return {"TableName": self._table(key.table), "Key": _key(key)}

    def _table(self, name: str) -> str:
        return f"{self.prefix}-{name}"


def item_of(record: Record, key: Key) -> codec.Attributes:
    """What is written for a record: its fields, with its version one higher, its key, and its index attributes."""
    item = {**codec.encode(record), **_key(key), **_index(record, key)}
    item["version"] = {"N": str(record.version + 1)}
    return item


def _key(key: Key) -> codec.Attributes:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _index(record: Record, key: Key) -> codec.Attributes:
    attributes: codec.Attributes = {}
    if (due := record.next_due) is not None:
        shard = sha256(key.pk.encode()).digest()[0] % DUE_SHARDS  # stable: old items stay where they are
        attributes["due_shard"] = {"S": f"{record.DUE_GROUP}{shard}"}
        attributes["due_at"] = {"N": str(codec.epoch_milliseconds(due))}
    if (end := record.vanishes_at) is not None:
        attributes["ttl"] = _ttl(end)
    return attributes


def _ttl(end: datetime | None) -> dict[str, str]:
    assert end is not None, "a counter vanishes"
    return {"N": str(codec.epoch_milliseconds(end) // 1000)}


def _version_is(version: int) -> dict[str, Any]:
    if version == 0:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": {"N": str(version)}},
    }
