"""Faster queries of moto's DynamoDB: one partition is searched, and each key condition is parsed once."""

import copy
from typing import Any

from moto.dynamodb import responses
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table

_query, _parse = Table.query, responses.parse_expression
_INDEX = 6
"""The position of the index name among the parameters of `Table.query` after the hash key."""
_Conditions = tuple[list[tuple[str, Any]], list[tuple[str, str, list[Any]]], list[str]]
_parsed: dict[tuple[str, str, str, str], _Conditions] = {}


def _query_of_partition(table: Table, hash_key: DynamoType, *rest: Any, **more: Any) -> Any:
    """Queries what the table or its index has under one key: moto sorts all items of the table first."""
    part = copy.copy(table)
    if rest[_INDEX] is None:
        part.items = {hash_key: table.items.get(hash_key, {})}  # type: ignore[assignment]
    else:
        (attribute, _), *_ = more["hash_key_conditions"]
        partitions = ((pk, _with(attribute, hash_key, items)) for pk, items in table.items.items())
        part.items = {pk: items for pk, items in partitions if items}  # type: ignore[assignment]
    return _query(part, hash_key, *rest, **more)


def _with(attribute: str, value: DynamoType, partition: Any) -> dict[DynamoType, Item]:
    """Returns the items that have the value in an attribute."""
    return {
        sk: item
        for sk, item in partition.items()
        if (found := item.attrs.get(attribute)) is not None and found == value
    }


def _parse_key_condition(
    key_condition_expression: str,
    expression_attribute_values: dict[str, dict[str, str]],
    expression_attribute_names: dict[str, str],
    schema: list[dict[str, str]],
) -> _Conditions:
    """Parses a condition once, with the names of its values in their place. moto refuses empty texts itself."""
    values = expression_attribute_values
    if {"S": ""} in values.values():
        return _parse(key_condition_expression, values, expression_attribute_names, schema)
    key = key_condition_expression, repr(values.keys()), repr(expression_attribute_names), repr(schema)
    if key not in _parsed:
        named = {name: {"S": name} for name in values}
        _parsed[key] = _parse(key_condition_expression, named, expression_attribute_names, schema)
    hash_keys, range_keys, used = _parsed[key]
    return (
        [(name, values[value["S"]]) for name, value in hash_keys],
        [(name, comparison, [values[value["S"]] for value in of_key]) for name, comparison, of_key in range_keys],
        [*used],
    )


def apply() -> None:
    """Replaces the functions in moto for the whole process."""
    Table.query = _query_of_partition  # type: ignore[method-assign]
    responses.parse_expression = _parse_key_condition
