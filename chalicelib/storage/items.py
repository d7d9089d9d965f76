"""The DynamoDB items of records: keys, version, index attributes, and conditions on them."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from chalicelib.base.lists import LISTS
from chalicelib.base.records import Key, Record
from chalicelib.storage import codec

DUE_SHARDS = 8
"""The number of partitions for each group of the index `by_due`, which share its writes."""


def item_of(record: Record, key: Key) -> codec.Attributes:
    """The item that is written for a record: its fields, the next version, its key and its index attributes."""
    item = {**codec.encode(record), **attributes_of(key), **_index(record, key)}
    item["version"] = {"N": str(record.version + 1)}
    return item


def with_write_id(put: dict[str, Any], write_id: str) -> dict[str, Any]:
    """A put that stores the id, and that returns the stored item, with its id, if the condition fails."""
    item = {**put["Item"], "write_id": {"S": write_id}}
    return {**put, "Item": item, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


def attributes_of(key: Key) -> codec.Attributes:
    """The key attributes of an item."""
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _index(record: Record, key: Key) -> codec.Attributes:
    attributes: codec.Attributes = {}
    if (due := record.next_due) is not None:
        shard = sha256(key.pk.encode()).digest()[0] % DUE_SHARDS  # a rewritten item stays in its shard
        attributes["due_shard"] = {"S": f"{record.DUE_GROUP}{shard}"}
        attributes["due_at"] = {"N": str(codec.epoch_milliseconds(due))}
    attributes |= _lists(record)
    if (vanishes_at := record.vanishes_at) is not None:
        attributes["ttl"] = ttl_of(vanishes_at)
    return attributes


def is_listed(record: Record, item: codec.Attributes) -> bool:
    """Whether the item of a record has the index attributes of the lists that it belongs to, and of no others."""
    names = {"listed_at", *LISTS.get(record.KEY.table, ())}
    return {name: value for name, value in item.items() if name in names} == _lists(record)


def _lists(record: Record) -> codec.Attributes:
    listed = {index: {"S": name} for index, name in record.listed.items()}
    return {**listed, "listed_at": {"S": record.listed_at}} if listed else {}


def ttl_of(vanishes_at: datetime | None) -> dict[str, str]:
    """The attribute `ttl`, in whole seconds."""
    assert vanishes_at is not None, "counters are deleted after their window"
    return {"N": str(codec.epoch_milliseconds(vanishes_at) // 1000)}


def added(record: Record, amounts: Mapping[str, int]) -> dict[str, Any]:
    """The update that adds amounts to the counts of an item, which has the other fields of the record from then on."""
    fields = {name: value for name, value in codec.encode(record).items() if name != "version"}
    counts = {codec.COUNT + name: {"N": str(amount)} for name, amount in amounts.items()}
    names = {name: str(number) for number, name in enumerate((*fields, *counts))}
    sets = ", ".join(f"#{names[name]} = :{names[name]}" for name in fields)
    adds = ", ".join(f"#{names[name]} :{names[name]}" for name in counts)
    return {
        "UpdateExpression": f"SET {sets} ADD {adds}",
        "ExpressionAttributeNames": {f"#{number}": name for name, number in names.items()},
        "ExpressionAttributeValues": {f":{names[name]}": value for name, value in (fields | counts).items()},
    }


def version_is(version: int) -> dict[str, Any]:
    """The condition that the stored item has this version; 0: that there is none."""
    if version == 0:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": {"N": str(version)}},
    }
