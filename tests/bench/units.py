"""What a flow costs in DynamoDB: read and write units of its calls, from the items in the tables of in-process AWS.

A write is charged by the larger of the item before and after it, in KB, twice in a transaction. Every index that has it
is written as well, if anything that the index holds has changed: twice if the item moves within it, and each time by
the size of what the index holds of the item. A read is charged in 4 KB, half if it need not be consistent.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from tests.bench.calls import watched
from tests.bench.load import TABLE_SECONDS, TRANSACTION_SECONDS
from tests.fakes.memory_dynamodb import MemoryDynamoDB
from tests.fakes.memory_tables import Index, Item

_KB = 1024
Stored = Item | None
"""None if there is no item."""


@dataclass
class Units:
    """Units of DynamoDB; `partitions` has the writes by table or index, and partition, `read_in` the reads by table."""

    reads: float = 0
    writes: float = 0
    seconds: float = 0
    partitions: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    read_in: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __sub__(self, less: "Units") -> "Units":
        return self + less / -1

    def __add__(self, more: "Units") -> "Units":
        partitions = self.partitions.copy()
        for place, units in more.partitions.items():
            partitions[place] += units
        read_in = self.read_in.copy()
        for table, units in more.read_in.items():
            read_in[table] += units
        sums = (self.reads + more.reads, self.writes + more.writes, self.seconds + more.seconds)
        return Units(*sums, partitions, read_in)

    def written_in(self, table: str) -> float:
        """The write units of a table and its indexes."""
        return sum(units for (place, _), units in self.partitions.items() if place.split()[0] == table)

    def __truediv__(self, count: int) -> "Units":
        shares = defaultdict(float, {place: units / count for place, units in self.partitions.items()})
        read_in = defaultdict(float, {table: units / count for table, units in self.read_in.items()})
        return Units(self.reads / count, self.writes / count, self.seconds / count, shares, read_in)


class _Call(threading.local):
    """The call that a thread is making, and what is stored in the places that it writes."""

    params: dict[str, Any]
    before: dict[tuple[str, str, str], Stored]


@contextmanager
def metered(client: MemoryDynamoDB) -> Iterator[Units]:
    """Counts the units of the calls of a client of in-process AWS, those of several threads each by itself."""
    units, call = Units(), _Call()

    def before_call(params: dict[str, Any], model: Any, **_: Any) -> None:
        call.params, call.before = params, {place: _stored(client, *place) for place in _written(params)}

    def after_call(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        is_transaction = "TransactItems" in call.params
        units.seconds += TRANSACTION_SECONDS if is_transaction else TABLE_SECONDS
        for place, stored in call.before.items():
            _count_write(units, client, place, stored, 2 if is_transaction else 1)
        for table, number in _reads(call.params, parsed):
            units.reads += number
            units.read_in[table] += number

    with watched(client, before_call, after_call):
        yield units


def _written(params: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Table, partition key and sort key of each item that a call writes or checks."""
    writes = [action for item in params.get("TransactItems", ()) for action in item.values()]
    if any(name in params for name in ("UpdateExpression", "Item")) or (
        "Key" in params and "ConsistentRead" not in params
    ):
        writes.append(params)
    for write in writes:
        key = write.get("Key") or write["Item"]
        yield write["TableName"], key["pk"]["S"], key["sk"]["S"]
    for table, requests in params.get("RequestItems", {}).items():
        for put in (each["PutRequest"]["Item"] for each in requests if "PutRequest" in each):
            yield table, put["pk"]["S"], put["sk"]["S"]


def _stored(client: MemoryDynamoDB, table: str, pk: str, sk: str) -> Stored:
    return client.tables[table].get((pk, sk))


def _count_write(
    units: Units, client: MemoryDynamoDB, place: tuple[str, str, str], old: Stored, factor: int
) -> None:
    """Counts what has replaced an item."""
    (table, pk, _), new = place, _stored(client, *place)
    size = max(_size(old), _size(new), 1)
    units.writes += factor * size
    units.partitions[table, pk] += factor * size
    for name, index in client.tables[table].indexes.items():
        left, right = index.position(old), index.position(new)
        if left is not None and left != right:
            _count_entry(units, f"{table} {name}", index, left[0], old)
        if right is not None and (left != right or _has_changed(index, old, new)):
            _count_entry(units, f"{table} {name}", index, right[0], new)


def _count_entry(units: Units, place: str, index: Index, partition: str, item: Stored) -> None:
    """Counts one write of an item's entry in an index."""
    assert item is not None, "what has a place in an index exists"
    size = _size(index.shown(item))
    units.writes += size
    units.partitions[place, partition] += size


def _has_changed(index: Index, old: Stored, new: Stored) -> bool:
    """Whether what the index holds of an item in the same place is another one. An index of keys holds nothing else."""
    return not index.keys_only and old != new


def _size(item: Stored) -> int:
    return 0 if item is None else ceil(item.size / _KB)


def _reads(params: dict[str, Any], parsed: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The read units of a call, by table."""
    if "Responses" in parsed:  # of BatchGetItem: each item is a read of its own, found or not
        for name, asked in params["RequestItems"].items():
            yield name, _batch_reads(asked, parsed["Responses"][name])
    elif "KeyConditionExpression" in params:
        units = max(ceil(sum(map(_bytes, parsed["Items"])) / 4 / _KB), 1)
        yield params["TableName"], units if params.get("ConsistentRead") else units / 2
    elif "ConsistentRead" in params:
        yield params["TableName"], _read(parsed.get("Item", {}), params["ConsistentRead"])


def _batch_reads(asked: dict[str, Any], found: list[dict[str, Any]]) -> float:
    absent: list[dict[str, Any]] = [{}] * (len(asked["Keys"]) - len(found))
    return sum(_read(item, asked["ConsistentRead"]) for item in [*found, *absent])


def _read(item: dict[str, Any], is_consistent: bool) -> float:
    """The units that a read of an item takes; that of one which does not exist takes as much as of the smallest."""
    return max(ceil(_bytes(item) / 4 / _KB), 1) / (1 if is_consistent else 2)


def _bytes(item: dict[str, Any]) -> int:
    """The size of an item as it is sent: names and values."""
    values = ((name, next(iter(value.values()))) for name, value in item.items())
    return sum(len(name) + len(value if isinstance(value, bytes) else str(value)) for name, value in values)
