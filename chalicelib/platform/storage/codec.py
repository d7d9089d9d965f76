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
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeVar

from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Counts

Attributes = dict[str, Any]
"""An item in the form of the DynamoDB API: {name: {"S": ...}}."""

COUNT = "n:"
T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_HINTS: dict[type, dict[str, Any]] = {}
"""A cache of resolved annotations."""
_NAMES: dict[type, dict[str, str]] = {}
"""A cache of the attribute name of each field."""


def encode(record: Any) -> Attributes:
    """The attributes of a dataclass; fields that are None are left out."""
    names = _names(type(record))
    item: Attributes = {}
    for name, hint in _hints(type(record)).items():
        value = getattr(record, name)
        if hint is Counts:
            item |= {COUNT + each: {"N": str(count)} for each, count in value.items()}
        elif value is not None:
            item[names[name]] = _encode(value, hint)
    return item


def decode(cls: type[T], item: Attributes) -> T:
    """The dataclass of an item. Attributes that are not fields (keys, indexes) are ignored.

    A missing attribute becomes the field's default, which items written by an older version need, or None.
    """
    defaults, names = _defaults(cls), _names(cls)
    values = {
        name: _decode(item[names[name]], hint) if names[name] in item else defaults.get(name)
        for name, hint in _hints(cls).items()
    }
    for name in [name for name, hint in _hints(cls).items() if hint is Counts]:
        values[name] = Counts({each[len(COUNT) :]: int(n["N"]) for each, n in item.items() if each.startswith(COUNT)})
    return cls(**values)


def attributes_of(cls: type) -> set[str]:
    """The names of the attributes of a dataclass, beside its counts."""
    return {name for field, name in _names(cls).items() if _hints(cls)[field] is not Counts}


def epoch_milliseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MILLISECOND


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        hints = typing.get_type_hints(cls)
        _HINTS[cls] = {field.name: _required(hints[field.name]) for field in fields(cls)}
    return _HINTS[cls]


def _names(cls: type) -> dict[str, str]:
    if cls not in _NAMES:
        _NAMES[cls] = {field.name: field.metadata.get("attribute", field.name) for field in fields(cls)}
    return _NAMES[cls]


def _defaults(cls: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(cls) if field.default is not MISSING}


def _required(hint: Any) -> Any:
    """The type without None (`str` for `str | None`): fields that are None have no attribute."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(arm for arm in typing.get_args(hint) if arm is not type(None))
    return hint


def _encode(value: Any, hint: Any) -> dict[str, Any]:
    if typing.get_origin(hint) is tuple:
        return {"L": [_encode(element, hint.__args__[0]) for element in value]}
    if is_dataclass(hint):
        return {"M": encode(value)}
    if hint is BaseUnits:
        return {"S": str(value)}
    if hint is bool:
        return {"BOOL": value}
    if hint is int:
        return {"N": str(value)}
    if hint is datetime:
        return {"N": str(epoch_milliseconds(value))}
    return {"S": value.value if isinstance(value, Enum) else value}


def _decode(attribute: dict[str, Any], hint: Any) -> Any:
    (value,) = attribute.values()
    if typing.get_origin(hint) is tuple:
        return tuple(_decode(element, hint.__args__[0]) for element in value)
    if is_dataclass(hint):
        return decode(typing.cast(type, hint), value)
    if hint is BaseUnits or hint is int:
        return int(value)
    if hint is datetime:
        return _EPOCH + int(value) * _MILLISECOND
    return hint(value) if isinstance(hint, type) and issubclass(hint, Enum) else value
