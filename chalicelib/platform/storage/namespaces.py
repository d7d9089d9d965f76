"""A DynamoDB client whose records lie apart from all others, in the same tables.

Every partition key begins with the name of the namespace, that of each index included. It is put in front of what a
Store sends and taken away from what it gets, here alone. So the store of a namespace finds nothing of another one, and
nobody else finds its records: neither by key nor in a list, nor in a sweep of what is due.

It has the calls of a Store that name partitions. A scan has none, so there is no scan of a namespace.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from datetime import datetime
from typing import Any

from chalicelib.base.lists import LISTS
from chalicelib.platform.storage.codec import Attributes
from chalicelib.platform.storage.store import Store

PARTITIONS = frozenset({"pk", "due_shard"}.union(*LISTS.values()))
"""The attributes that are the partition key of a table or of an index."""
_EQUATION = re.compile(r"([#\w]+) ?= ?(:\w+)")
"""In an expression: an attribute or its alias, and the placeholder of the value that it gets or has to have."""
_EXPRESSIONS = ("KeyConditionExpression", "FilterExpression", "UpdateExpression", "ConditionExpression")


def in_namespace(store: Store, namespace: str, end: Callable[[], datetime]) -> Store:
    """The store of a namespace in the tables of another store; from `end` on DynamoDB may delete what it writes."""
    apart = copy(store)
    apart.client, apart.end = NamespacedClient(store.client, namespace), end
    return apart


class NamespacedClient:
    """`client` is that of boto3, `namespace` the text with which the partition keys begin."""

    def __init__(self, client: Any, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    @property
    def exceptions(self) -> Any:
        return self._client.exceptions

    def get_item(self, **parameters: Any) -> Any:
        return self._without_namespace(self._client.get_item(**self._with_namespace(parameters)))

    def query(self, **parameters: Any) -> Any:
        assert self._partition_values(parameters), "a query names its partition"
        return self._without_namespace(self._client.query(**self._with_namespace(parameters)))

    def put_item(self, **parameters: Any) -> Any:
        return self._client.put_item(**self._with_namespace(parameters))

    def update_item(self, **parameters: Any) -> Any:
        return self._client.update_item(**self._with_namespace(parameters))

    def transact_write_items(self, *, TransactItems: Iterable[Mapping[str, Any]], **others: Any) -> Any:
        items = [{name: self._with_namespace(action) for name, action in each.items()} for each in TransactItems]
        return self._client.transact_write_items(TransactItems=items, **others)

    def batch_get_item(self, *, RequestItems: Mapping[str, Any]) -> Any:
        response = self._client.batch_get_item(RequestItems=_change_keys(RequestItems, self._add_namespace))
        read = {table: list(map(self._remove_namespace, items)) for table, items in response["Responses"].items()}
        unread = _change_keys(response.get("UnprocessedKeys", {}), self._remove_namespace)
        return {**response, "Responses": read, "UnprocessedKeys": unread}

    def batch_write_item(self, *, RequestItems: Mapping[str, Any]) -> Any:
        response = self._client.batch_write_item(RequestItems=_change_puts(RequestItems, self._add_namespace))
        unwritten = _change_puts(response.get("UnprocessedItems", {}), self._remove_namespace)
        return {**response, "UnprocessedItems": unwritten}

    def _with_namespace(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a call for one item or one partition, in the namespace."""
        changed = dict(parameters)
        for name in ("Key", "Item", "ExclusiveStartKey"):
            if name in changed:
                changed[name] = self._add_namespace(changed[name])
        values = dict(changed.get("ExpressionAttributeValues", {}))
        for placeholder in self._partition_values(changed):
            values[placeholder] = {"S": self._namespace + values[placeholder]["S"]}
        return {**changed, "ExpressionAttributeValues": values} if values else changed

    def _partition_values(self, parameters: Mapping[str, Any]) -> set[str]:
        """The placeholders in the expressions of a call whose values name partitions."""
        aliases = parameters.get("ExpressionAttributeNames", {})
        pairs = (pair for name in _EXPRESSIONS for pair in _EQUATION.findall(parameters.get(name, "")))
        return {placeholder for name, placeholder in pairs if aliases.get(name, name) in PARTITIONS}

    def _without_namespace(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a read, as it is in a store without a namespace."""
        changed = dict(response)
        for name in ("Item", "LastEvaluatedKey"):
            if changed.get(name):
                changed[name] = self._remove_namespace(changed[name])
        if "Items" in changed:
            changed["Items"] = list(map(self._remove_namespace, changed["Items"]))
        return changed

    def _add_namespace(self, item: Attributes) -> Attributes:
        return {
            name: {"S": self._namespace + value["S"]} if name in PARTITIONS else value for name, value in item.items()
        }

    def _remove_namespace(self, item: Attributes) -> Attributes:
        """Raises AssertionError for an item of another namespace, which no call here can find."""
        named = {name: value["S"] for name, value in item.items() if name in PARTITIONS}
        assert all(text.startswith(self._namespace) for text in named.values()), "an item of another namespace"
        return {**item, **{name: {"S": text.removeprefix(self._namespace)} for name, text in named.items()}}


def _change_keys(requests: Mapping[str, Any], change: Callable[[Attributes], Attributes]) -> dict[str, Any]:
    """The keys of a batch, by table, changed."""
    return {table: {**each, "Keys": list(map(change, each["Keys"]))} for table, each in requests.items()}


def _change_puts(requests: Mapping[str, Any], change: Callable[[Attributes], Attributes]) -> dict[str, Any]:
    """The puts of a batch, by table, with their items changed."""
    return {
        table: [{"PutRequest": {"Item": change(each["PutRequest"]["Item"])}} for each in puts]
        for table, puts in requests.items()
    }
