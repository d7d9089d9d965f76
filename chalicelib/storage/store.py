"""DynamoDB: reads, and transactions of whole records with optimistic versions.

Every record carries `version`, the number of times it was written. Writing a record asks that the stored version is
still the one it was read with (0: that it does not exist yet), and stores one more. So every write that can race is
conditional, and a reader's decision is never applied to a state it did not see.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from chalicelib.access.rate_limits.rules import Window
from chalicelib.base import records as base
from chalicelib.base.records import Key
from chalicelib.storage import codec, tables
from chalicelib.storage.clients import aws_client

T = TypeVar("T")
LARGEST_TRANSACTION = 100
"""How many writes DynamoDB takes in one transaction."""
_CONTENTION_ATTEMPTS = 8
_LAST = "\uffff"
_LONGEST_SORT_KEY = 200  # characters; DynamoDB takes 1024 bytes
_THROTTLES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"}


class WriteConflict(Exception):
    """Somebody else wrote one of the records first; nothing of the transaction was applied. Load and decide again."""


class Throttled(Exception):
    """DynamoDB takes no more of these calls at the moment."""


@dataclass(frozen=True)
class Delete:
    """Removes a record, if it still has the version it was read with."""

    record: Any


@dataclass(frozen=True)
class Absent:
    """Asks that there is nothing under a key, without writing to it."""

    key: Key


class Store:
    def __init__(self, prefix: str, client: Any = None) -> None:
        self.prefix = prefix
        if client is not None:
            self.client = client

    @cached_property
    def client(self) -> Any:
        return aws_client("dynamodb")

    def get(self, cls: type[T], key: Key) -> T | None:
        """One consistent read."""
        answer = self.client.get_item(TableName=self._table(key.table), Key=_key(key), ConsistentRead=True)
        return codec.decode(cls, answer["Item"]) if "Item" in answer else None

    def get_many(self, wanted: dict[Key, type]) -> dict[Key, Any]:
        """Consistent reads, 100 keys of any tables a call; keys that do not exist are left out. Raises Throttled."""
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

    def query(self, cls: type[T], table: str, pk: str, first: str = " ", last: str = _LAST) -> tuple[T, ...]:
        """Every record of a partition whose sort key lies from `first` to `last`, in order; a consistent read."""
        return tuple(codec.decode(cls, item) for item in self._query(table, pk, first, last))

    def query_mixed(self, kinds: dict[str, type], table: str, pk: str) -> list[Any]:
        """Every record of a partition, each decoded as the kind that its sort key begins with."""
        items = self._query(table, pk, " ", _LAST)
        return [codec.decode(kinds[item["sk"]["S"].split("#")[0]], item) for item in items]

    def page(
        self, cls: type[T], table: str, pk: str, before: str | None, limit: int
    ) -> tuple[tuple[T, ...], str | None]:
        """Up to `limit` records of a partition from the highest sort key below `before` down, and the next cursor."""
        answer = self.client.query(
            TableName=self._table(table),
            KeyConditionExpression="pk = :pk AND sk < :before",
            ExpressionAttributeValues={":pk": {"S": pk}, ":before": {"S": (before or _LAST)[:_LONGEST_SORT_KEY]}},
            ScanIndexForward=False,
            Limit=limit,
        )
        items = answer["Items"]
        following = items[-1]["sk"]["S"] if "LastEvaluatedKey" in answer and items else None
        return tuple(codec.decode(cls, item) for item in items), following

    def count(self, window: Window) -> int | None:
        """Counts one more in a window, exactly, however many race; None when the window is full.

        Raises Throttled when DynamoDB takes no more writes to it: more than a thousand calls a second, or a table that
        is growing.
        """
        failures = self.client.exceptions
        try:
            answer = self.client.update_item(
                TableName=self._table(base.OPS),
                Key={"pk": {"S": f"RATE#{window.key}"}, "sk": {"S": "RATE"}},
                UpdateExpression="SET #ttl = :ttl ADD calls :one",
                ConditionExpression="attribute_not_exists(calls) OR calls < :limit",
                ExpressionAttributeNames={"#ttl": "ttl"},
                ExpressionAttributeValues={
                    ":one": {"N": "1"},
                    ":limit": {"N": str(window.limit)},
                    ":ttl": {"N": str(int(window.ends_at.timestamp()) + 60)},
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

    def uncount(self, window: Window) -> None:
        """Takes one count back. Raises Throttled as `count` does."""
        failures = self.client.exceptions
        try:
            self.client.update_item(
                TableName=self._table(base.OPS),
                Key={"pk": {"S": f"RATE#{window.key}"}, "sk": {"S": "RATE"}},
                UpdateExpression="ADD calls :less",
                ConditionExpression="calls > :none",
                ExpressionAttributeValues={":less": {"N": "-1"}, ":none": {"N": "0"}},
            )
        except failures.ConditionalCheckFailedException:
            return  # its window has passed and was dropped
        except failures.ClientError as error:
            if error.response["Error"]["Code"] in _THROTTLES:
                raise Throttled from error
            raise

    def due(self, table: str, before: datetime, limit: int, kind: str = "") -> Iterable[Key]:
        """Keys whose time has come, the longest overdue of each shard of that kind first; at most `limit` a shard."""
        for shard in range(tables.DUE_SHARDS):
            answer = self.client.query(
                TableName=self._table(table),
                IndexName=tables.DUE_INDEX,
                KeyConditionExpression="due_shard = :shard AND due_at <= :before",
                ExpressionAttributeValues={
                    ":shard": {"S": f"{kind}{shard}"},
                    ":before": {"N": str(codec.epoch_milliseconds(before))},
                },
                Limit=limit,
            )
            for item in answer["Items"]:
                yield Key(table, item["pk"]["S"], item["sk"]["S"])

    def write(self, *writes: Any) -> None:
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

    def _query(self, table: str, pk: str, first: str, last: str) -> list[codec.Attributes]:
        question = {
            "TableName": self._table(table),
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ExpressionAttributeValues": {":pk": {"S": pk}, ":first": {"S": first}, ":last": {"S": last}},
            "ConsistentRead": True,
        }
        items: list[codec.Attributes] = []
        while True:
            answer = self.client.query(**question)
            items += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return items
            question["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _action(self, write: Any) -> dict[str, Any]:
        match write:
            case Absent(key):
                return {"ConditionCheck": {**self._place(key), "ConditionExpression": "attribute_not_exists(pk)"}}
            case Delete(record):
                return {"Delete": {**self._place(tables.key_of(record)), **_version_is(record.version)}}
        key = tables.key_of(write)
        item = {**codec.encode(write), **_key(key), **_index(write)}
        item["version"] = {"N": str(write.version + 1)}
        return {"Put": {"TableName": self._table(key.table), "Item": item, **_version_is(write.version)}}

    def _place(self, key: Key) -> dict[str, Any]:
        return {"TableName": self._table(key.table), "Key": _key(key)}

    def _table(self, name: str) -> str:
        return f"{self.prefix}-{name}"


def _key(key: Key) -> codec.Attributes:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _index(record: Any) -> codec.Attributes:
    attributes: codec.Attributes = {}
    if (due := tables.due_at(record)) is not None:
        attributes["due_shard"] = {"S": tables.due_shard(record)}
        attributes["due_at"] = {"N": str(codec.epoch_milliseconds(due))}
    if (end := tables.vanishes_at(record)) is not None:
        attributes["ttl"] = {"N": str(codec.epoch_milliseconds(end) // 1000)}
    return attributes


def _version_is(version: int) -> dict[str, Any]:
    if version == 0:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": {"N": str(version)}},
    }
