"""Tables of DynamoDB in memory: items as they are stored, their order, and the sparse indexes of a table."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from tests.fakes.memory_expressions import Refused

MOST_BYTES = 400 * 1024
"""Of an item."""
_MOST_KEY_BYTES = {"pk": 2048, "sk": 1024}
_PLAIN = {"S": str, "B": bytes, "BOOL": bool}
"""Most attribute values, which are stored as they are."""
_LAST = chr(0x10FFFF)
Entry = tuple[Any, str, str]
"""A place in an order: what it is sorted by, and the key of an item."""


class Item(dict[str, Any]):
    """The attribute values of a stored item, which is replaced and never changed. A number has a byte for each digit."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        super().__init__(attributes)
        self.size = 0
        for name, value in attributes.items():
            self.size += len(name) + _size(value)
        if self.size > MOST_BYTES:
            raise Refused("Item size has exceeded the maximum allowed size")

    @property
    def key(self) -> tuple[str, str]:
        return self["pk"]["S"], self["sk"]["S"]


class Index:
    """Items by the value of one attribute, in the order of another one. A table is one by `pk` and `sk`."""

    def __init__(self, name: str | None, by: str, order: str, types: Mapping[str, str], keys_only: bool) -> None:
        self.name, self.by, self.order, self.keys_only = name, by, order, keys_only
        self.types = {by: types[by], order: types[order]}
        self.entries: dict[str, list[Entry]] = {}

    def position(self, item: Mapping[str, Any] | None) -> tuple[str, Any] | None:
        """Where an item is; None if it is not in this index."""
        if item is None or self.by not in item or self.order not in item:
            return None
        return item[self.by]["S"], self.sorted_by(item[self.order])

    def sorted_by(self, value: Mapping[str, Any]) -> Any:
        return int(value["N"]) if self.types[self.order] == "N" else value["S"]

    def move(self, old: Item | None, new: Item | None, key: tuple[str, str]) -> None:
        left, right = self.position(old), self.position(new)
        if left == right:
            return
        if left is not None:
            entries = self.entries[left[0]]
            del entries[bisect_left(entries, (left[1], *key))]
            if not entries:
                del self.entries[left[0]]
        if right is not None:
            insort(self.entries.setdefault(right[0], []), (right[1], *key))

    def between(self, by: str, comparator: str, values: list[Any]) -> list[Entry]:
        """The entries under one value whose order compares so with the given values."""
        entries, order = self.entries.get(by, []), itemgetter(0)
        first, end = 0, len(entries)
        if comparator in ("=", "BETWEEN", ">=", "begins_with"):
            first = bisect_left(entries, values[0], key=order)
        elif comparator == ">":
            first = bisect_right(entries, values[0], key=order)
        if comparator in ("=", "BETWEEN", "<="):
            end = bisect_right(entries, values[-1], key=order)
        elif comparator == "<":
            end = bisect_left(entries, values[0], key=order)
        elif comparator == "begins_with":
            end = bisect_right(entries, values[0] + _LAST, key=order)
        return entries[first:end]

    def place_of(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes that name the place of an item, as in LastEvaluatedKey."""
        return {name: dict(item[name]) for name in (self.by, self.order, "pk", "sk")}

    def shown(self, item: Item) -> Item:
        """What the index holds of an item."""
        return Item(self.place_of(item)) if self.keys_only else item

    def check(self, item: Mapping[str, Any]) -> None:
        """Raises Refused for an item whose attributes cannot be those of this index."""
        for name, kind in self.types.items():
            value = item.get(name)
            if value is not None and (kind not in value or value[kind] == ""):
                raise Refused(f"{name} is a key of {self.name}, and not a text or number that may be one: {value}")


class Table:
    """One of the template's tables: `items` by partition and sort key."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        """`wanted` are properties of AWS::DynamoDB::Table."""
        types = {each["AttributeName"]: each["AttributeType"] for each in wanted["AttributeDefinitions"]}
        self.items: dict[str, dict[str, Item]] = {}
        self.primary = Index(None, "pk", "sk", types, keys_only=False)
        self.indexes = {
            each["IndexName"]: Index(  # type: ignore[call-arg]
                each["IndexName"],
                *(key["AttributeName"] for key in each["KeySchema"]),
                types,
                each["Projection"]["ProjectionType"] == "KEYS_ONLY",
            )
            for each in wanted.get("GlobalSecondaryIndexes", ())
        }

    def all(self) -> Iterator[Item]:
        for partition in list(self.items.values()):
            yield from list(partition.values())

    def get(self, key: tuple[str, str]) -> Item | None:
        return self.items.get(key[0], {}).get(key[1])

    def put(self, item: Item) -> None:
        pk, sk = item.key
        old = self.get((pk, sk))
        self.items.setdefault(pk, {})[sk] = item
        self._move(old, item, (pk, sk))

    def delete(self, key: tuple[str, str]) -> None:
        old = self.get(key)
        if old is not None:
            del self.items[key[0]][key[1]]
            if not self.items[key[0]]:
                del self.items[key[0]]
            self._move(old, None, key)

    def clear(self) -> None:
        self.items.clear()
        for index in (self.primary, *self.indexes.values()):
            index.entries.clear()

    def put_back(self, items: list[Item]) -> None:
        """Makes these all items of the table."""
        self.clear()
        for item in items:
            self.put(item)

    def check(self, item: Mapping[str, Any]) -> None:
        """Raises Refused for an item that an index of this table cannot hold."""
        for index in self.indexes.values():
            index.check(item)

    def _move(self, old: Item | None, new: Item | None, key: tuple[str, str]) -> None:
        self.primary.move(old, new, key)
        for index in self.indexes.values():
            index.move(old, new, key)


def check_key(key: Mapping[str, Any]) -> tuple[str, str]:
    """The partition and sort key. Raises Refused for what is no key of an item."""
    if key.keys() != _MOST_KEY_BYTES.keys() or "S" not in key["pk"] or "S" not in key["sk"]:
        raise Refused(f"The provided key element does not match the schema: {sorted(key)}")
    pk, sk = key["pk"]["S"], key["sk"]["S"]
    for name, text in (("pk", pk), ("sk", sk)):
        if not 0 < _bytes_of(text) <= _MOST_KEY_BYTES[name]:
            raise Refused(f"{name} is empty, or longer than {_MOST_KEY_BYTES[name]} bytes")
    return pk, sk


def stored(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of attribute values as DynamoDB stores them. Raises Refused for a number that it does not store."""
    return {name: _stored(value) for name, value in attributes.items()}


def copied(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of stored attribute values, which their reader may change."""
    return {name: dict(value) if "M" not in value and "L" not in value else _stored(value) for name, value in attributes.items()}


def _stored(value: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, content),) = value.items()
    if _PLAIN.get(kind) is type(content):
        return {kind: content}
    match kind, content:
        case ("S", str()) | ("B", bytes()) | ("BOOL", bool()) | ("NULL", True):
            return {kind: content}
        case "N", str():
            return {"N": _number(content)}
        case "L", list() | tuple():
            return {"L": [_stored(each) for each in content]}
        case "M", dict():
            return {"M": stored(content)}
    raise NotImplementedError(f"no attribute value of the product's storage: {value}")


def _number(text: str) -> str:
    """A whole number as DynamoDB writes it. The product stores no others."""
    if len(text) <= 38 and text.isascii() and text.isdecimal() and text[0] != "0":
        return text
    try:
        number = int(text)
    except ValueError:
        raise Refused(f"The parameter cannot be converted to a numeric value: {text}") from None
    if len(str(abs(number)).rstrip("0")) > 38 or abs(number) >= 10**126:
        raise Refused("Attempting to store more than 38 significant digits in a Number")
    return str(number)


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "S" or kind == "N":
        return _bytes_of(content)
    if kind == "B":
        return len(content)
    if kind == "L":
        return sum(map(_size, content))
    if kind == "M":
        return sum(len(name) + _size(each) for name, each in content.items())
    return 1
