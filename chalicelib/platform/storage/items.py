"""The DynamoDB items of records: keys, version, index attributes, changes of them, and conditions on them."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any, TypeVar

from chalicelib.base.errors import ServiceError
from chalicelib.base.lists import LISTS
from chalicelib.base.records import Key, Record
from chalicelib.platform.storage import codec

T = TypeVar("T", bound=Record)
DUE_SHARDS = 8
"""The number of partitions for each group of the index `by_due`, which share its writes."""


class NewerShape(ServiceError):
    """The stored item has a shape that this code cannot read (`Record.SCHEMA`). Nothing is done with it."""

    status = 503

    def __init__(self, cls: type[Record], item: codec.Attributes, shape: int) -> None:
        super().__init__("The service is being updated: send the request again in a minute")
        self.logged = (
            f"{cls.__name__} {item['pk']['S']} {item['sk']['S']} has shape {shape}, and this code reads {cls.SCHEMA} at"
            " most: deploy the version that wrote it, or a later one"
        )


def item_of(record: Record, key: Key, end: datetime | None = None) -> codec.Attributes:
    """The item that is written for a record: its fields, next version, shape, key and index attributes.

    It may be deleted from `end` on, if the record does not vanish earlier and there are not few of its kind.
    """
    item = {**codec.encode(record), **attributes_of(key), **_index(record, key), **_ttl(record, end)}
    item["version"] = {"N": str(record.version + 1)}
    item["schema"] = {"N": str(record.SCHEMA)}
    return item


def record_of(cls: type[T], item: codec.Attributes) -> T:
    """The record of an item. Raises NewerShape for one that only newer code can read."""
    shape = int(item["schema"]["N"]) if "schema" in item else 1
    if shape > cls.SCHEMA:
        raise NewerShape(cls, item, shape)
    return codec.decode(cls, item)


def put_of(record: Record, key: Key, write_id: str | None = None, end: datetime | None = None) -> dict[str, Any]:
    """The put of a record that does not exist; `write_id` is an attribute of it if it is put alone, `end` as above."""
    item = item_of(record, key, end)
    if write_id is not None:
        item["write_id"] = {"S": write_id}
    return {"Item": item, **version_is(0)}


def update_of(record: Record, key: Key, write_id: str | None = None, end: datetime | None = None) -> dict[str, Any]:
    """The update of a stored item to a record; `write_id` and `end` as in `put_of`.

    It sets the attributes that the record has, and removes those that its class knows and the record has not. Others
    stay as they are: newer code has written them, which runs beside this one while a version is deployed.
    """
    sets = item_of(record, key, end)
    del sets["pk"], sets["sk"]
    if write_id is not None:
        sets["write_id"] = {"S": write_id}
    kind: Any = type(record)
    expression, names = _expression(kind, tuple(sets))
    values = {f":{number}": value for number, value in enumerate(sets.values())}
    condition = version_is(record.version)
    return {
        **condition,
        "UpdateExpression": expression,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values | condition["ExpressionAttributeValues"],
    }


@cache
def _expression(cls: type[Record], sets: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The update that sets some attributes and removes the others of a kind, and the names of all of them."""
    removes = sorted(_attributes_of_kind(cls).difference(sets))
    expression = "SET " + ",".join(f"#{number}=:{number}" for number in range(len(sets)))
    if removes:
        expression += " REMOVE " + ",".join(f"#{number}" for number in range(len(sets), len(sets) + len(removes)))
    return expression, {f"#{number}": name for number, name in enumerate((*sets, *removes))}


def _attributes_of_kind(cls: type[Record]) -> set[str]:
    """Every attribute that items of a kind may have, beside their keys and counts."""
    names = codec.attributes_of(cls)
    if cls.next_due is not Record.next_due:
        names |= {"due_shard", "due_at"}
    if cls.listed is not Record.listed:
        names |= {"listed_at", *LISTS.get(cls.KEY.table, ())}
    if cls.vanishes_at is not Record.vanishes_at:
        names.add("ttl")
    return names


def attributes_of(key: Key) -> codec.Attributes:
    """The key attributes of an item."""
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _index(record: Record, key: Key) -> codec.Attributes:
    attributes: codec.Attributes = {}
    if (due := record.next_due) is not None:
        shard = sha256(key.pk.encode()).digest()[0] % DUE_SHARDS  # a rewritten item stays in its shard
        attributes["due_shard"] = {"S": f"{record.DUE_GROUP}{shard}"}
        attributes["due_at"] = {"N": str(codec.epoch_milliseconds(due))}
    return attributes | _lists(record)


def _ttl(record: Record, end: datetime | None) -> codec.Attributes:
    """From when the item may be deleted: the earlier one of when the record vanishes and `end`, if either is known."""
    ends = [each for each in (record.vanishes_at, None if record.ARE_FEW else end) if each is not None]
    return {"ttl": ttl_of(min(ends))} if ends else {}


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


def add_of(record: Record, amounts: Mapping[str, int], end: datetime | None = None) -> dict[str, Any]:
    """The update that adds amounts to the counts of an item, which has the other fields of the record from then on.

    `end` as in `item_of`.
    """
    fields = {name: value for name, value in codec.encode(record).items() if name != "version"} | _ttl(record, end)
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
