"""moto's DynamoDB with shortcuts around what made most of the time of the tests. Its answers stay the same."""

import copy
from collections import defaultdict
from typing import Any

from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.models.table import Table

_query, _serialize_structure = Table.query, BaseJSONSerializer._serialize_type_structure


def _copied(table: Table, _: Any = None) -> Table:
    """Another table of the same items, for moto to go back to when a transaction is refused.

    moto copies each item of the table instead, before every transaction. Puts and deletions, all that our transactions
    do, replace items and change none in place, so both tables can hold the same ones.
    """
    other = copy.copy(table)
    other.items = defaultdict(dict, {pk: dict(partition) for pk, partition in table.items.items()})
    return other


def _query_of_partition(table: Table, hash_key: Any, *rest: Any, **more: Any) -> Any:
    """Without an index, moto sorts all items of the table before it picks those of one partition."""
    if rest[_INDEX] is None:
        partition = {hash_key: table.items.get(hash_key, {})}
        table = copy.copy(table)
        table.items = partition  # type: ignore[assignment]
    return _query(table, hash_key, *rest, **more)


_INDEX = 6
"""Where the name of the index is among the parameters of `Table.query` after the hash key."""


def _serialized(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
    """An attribute is on its way in the form of the wire already; moto tries 10 types and 5 spellings at each."""
    if shape.name == "AttributeValue" and not value.keys() & {"B", "BS"}:
        serialized[key] = value
    else:
        _serialize_structure(serializer, serialized, value, shape, key)


def apply() -> None:
    """Put the shortcuts into moto, for good."""
    Table.__deepcopy__ = _copied  # type: ignore[attr-defined]
    Table.query = _query_of_partition  # type: ignore[method-assign]
    BaseJSONSerializer._serialize_type_structure = _serialized  # type: ignore[method-assign]
