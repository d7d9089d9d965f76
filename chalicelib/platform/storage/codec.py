"""Converts frozen dataclasses to DynamoDB attribute values and back, by their type annotations.

    str, Enum     S        int        N (up to 38 digits)
    BaseUnits     S        (a uint256 has up to 78 digits, more than N holds)
    datetime      N        milliseconds since the epoch
    bool          BOOL     None       absent
    tuple[T, ...] L        dataclass  M
    Counts        one N for each count, whose name begins with COUNT

An attribute has the name of its field, or the name that the field's metadata gives as "attribute".
"""

import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Counts

Attributes = dict[str, Any]
"""An item in the form of the DynamoDB API: {name: {"S": ...}}."""

COUNT = "n:"
T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
Encode = Callable[[Any], dict[str, Any]]
Decode = Callable[[Any], Any]
"""Make the attribute value of a value, and the value of what an attribute value holds (`"1"` of `{"N": "1"}`)."""


@frozen
class _Attribute:
    """A field of a dataclass: how it is read and written, and what a missing attribute means."""

    field: str
    name: str
    encode: Encode
    decode: Decode
    default: Any


_KNOWN: dict[type, tuple[tuple[_Attribute, ...], tuple[str, ...]]] = {}
"""What `_plan` has found for each class."""


def encode(record: Any) -> Attributes:
    """The attributes of a dataclass; fields that are None are left out."""
    attributes, counts = _plan(type(record))
    item = {
        each.name: each.encode(value) for each in attributes if (value := getattr(record, each.field)) is not None
    }
    for field in counts:
        item |= {COUNT + each: {"N": str(count)} for each, count in getattr(record, field).items()}
    return item


def decode(cls: type[T], item: Attributes) -> T:
    """The dataclass of an item. Attributes that are not fields (keys, indexes) are ignored.

    A missing attribute becomes the field's default, which items written by an older version need, or None.
    """
    attributes, counts = _plan(cls)
    values = dict[str, Any]()
    for each in attributes:
        if each.name in item:
            (held,) = item[each.name].values()
            values[each.field] = each.decode(held)
        else:
            values[each.field] = each.default
    for field in counts:
        values[field] = Counts({each[len(COUNT) :]: int(n["N"]) for each, n in item.items() if each.startswith(COUNT)})
    return cls(**values)


def attributes_of(cls: type) -> set[str]:
    """The names of the attributes of a dataclass, beside its counts."""
    return {each.name for each in _plan(cls)[0]}


def epoch_milliseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MILLISECOND


def _plan(cls: type) -> tuple[tuple[_Attribute, ...], tuple[str, ...]]:
    """The attributes of a dataclass, and the names of its fields that are counts."""
    if cls not in _KNOWN:
        hints = typing.get_type_hints(cls)
        counts = tuple(each.name for each in fields(cls) if hints[each.name] is Counts)
        others = (each for each in fields(cls) if each.name not in counts)
        _KNOWN[cls] = tuple(_attribute(each, _required(hints[each.name])) for each in others), counts
    return _KNOWN[cls]


def _attribute(field: Field[Any], hint: Any) -> _Attribute:
    default = None if field.default is MISSING else field.default
    return _Attribute(field.name, field.metadata.get("attribute", field.name), *_codec(hint), default)


def _required(hint: Any) -> Any:
    """The type without None (`str` for `str | None`): fields that are None have no attribute."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(arm for arm in typing.get_args(hint) if arm is not type(None))
    return hint


def _codec(hint: Any) -> tuple[Encode, Decode]:
    """How values of a type are written and read."""
    if typing.get_origin(hint) is tuple:
        write, read = _codec(hint.__args__[0])
        return lambda values: {"L": [write(each) for each in values]}, lambda held: tuple(_read(read, held))
    if is_dataclass(hint):
        cls = typing.cast(type, hint)
        return lambda value: {"M": encode(value)}, lambda held: decode(cls, held)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _text, hint
    return _PLAIN.get(hint, (_text, _same))


def _read(read: Decode, held: list[dict[str, Any]]) -> typing.Iterator[Any]:
    """The values of a list of attribute values of one type."""
    for attribute in held:
        (each,) = attribute.values()
        yield read(each)


def _same(held: Any) -> Any:
    return held


def _text(value: Any) -> dict[str, Any]:
    return {"S": value.value if isinstance(value, Enum) else value}


_PLAIN: dict[Any, tuple[Encode, Decode]] = {
    BaseUnits: (lambda value: {"S": str(value)}, int),
    bool: (lambda value: {"BOOL": value}, _same),
    int: (lambda value: {"N": str(value)}, int),
    datetime: (
        lambda value: {"N": str(epoch_milliseconds(value))},
        lambda held: _EPOCH + int(held) * _MILLISECOND,
    ),
}
