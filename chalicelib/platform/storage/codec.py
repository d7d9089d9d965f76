"""Converts frozen dataclasses to DynamoDB attribute values and back, by their type annotations.

    str, Enum     S        int        N (up to 38 digits)
    BaseUnits     S        (a uint256 has up to 78 digits, more than N holds)
    Uint256       S        (likewise)
    datetime      N        milliseconds since the epoch
    bool          BOOL     None       absent
    tuple[T, ...] L        dataclass  M
    Counts        one N for each count, whose name begins with COUNT
    COMPRESSED    B (zlib, RFC 1950; S if that is no shorter)
    INLINE        the attributes of a dataclass, beside those of the other fields

An attribute has the name of its field, or the name that the field's metadata gives as "attribute". A field that has its
default has no attribute, as each index has a copy of them all; so a default never changes. A dataclass may have FORMER,
values by attribute that are written with it: earlier code had fields for them.
"""

import types
import typing
import zlib
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import INLINE, Counts, Uint256

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
class _Plan:
    """How a dataclass is written and read. `values` takes those of the fields with an attribute from a record; the
    others are in the same order. `counts` are the fields without one, of the type Counts, `inline` those whose
    dataclass has them. `former` is written with each record."""

    fields: tuple[str, ...]
    attributes: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    encoders: tuple[Encode, ...]
    decoders: tuple[Decode, ...]
    defaults: tuple[Any, ...]
    counts: tuple[str, ...]
    inline: tuple[tuple[str, type], ...]
    former: Attributes


_PLANS: dict[type, _Plan] = {}
"""Made once for each class."""


def encode(record: Any) -> Attributes:
    """The attributes of a dataclass; fields that are None or have their default are left out."""
    plan = _plan_of(type(record))
    item = dict(plan.former)
    for field, _ in plan.inline:
        item |= encode(getattr(record, field))
    item |= {
        name: encoder(value)
        for name, encoder, value, default in zip(
            plan.attributes, plan.encoders, plan.values(record), plan.defaults, strict=True
        )
        if value is not None and value != default
    }
    for field in plan.counts:
        item |= {COUNT + each: {"N": str(count)} for each, count in getattr(record, field).items()}
    return item


def decode(cls: type[T], item: Attributes) -> T:
    """The dataclass of an item. Attributes that are not fields (keys, indexes) are ignored.

    A missing attribute becomes the field's default, which items written by an older version need, or None.
    """
    plan, values = _plan_of(cls), dict[str, Any]()
    for field, name, decoder, default in zip(plan.fields, plan.attributes, plan.decoders, plan.defaults, strict=True):
        if name in item:
            (value,) = item[name].values()
            values[field] = decoder(value)
        else:
            values[field] = default
    for field, kind in plan.inline:
        values[field] = decode(kind, item)
    for field in plan.counts:
        values[field] = Counts({each[len(COUNT) :]: int(n["N"]) for each, n in item.items() if each.startswith(COUNT)})
    return cls(**values)


def attributes_of(cls: type) -> set[str]:
    """The names of the attributes of a dataclass, beside its counts."""
    plan = _plan_of(cls)
    return set(plan.attributes).union(*(attributes_of(kind) for _, kind in plan.inline))


def epoch_milliseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MILLISECOND


def _plan_of(cls: type) -> _Plan:
    if cls not in _PLANS:
        hints = typing.get_type_hints(cls)
        inline = tuple((each.name, hints[each.name]) for each in fields(cls) if each.metadata == INLINE)
        stored = [each for each in fields(cls) if hints[each.name] is not Counts and each.metadata != INLINE]
        names = tuple(each.name for each in stored)
        encoders, decoders = zip(
            *(
                _compressing(each.metadata["preset"])
                if "preset" in each.metadata
                else _codec(_type_without_none(hints[each.name]))
                for each in stored
            ),
            strict=True,
        )
        _PLANS[cls] = _Plan(
            fields=names,
            attributes=tuple(each.metadata.get("attribute", each.name) for each in stored),
            values=attrgetter(*names) if len(names) > 1 else lambda record: (getattr(record, names[0]),),
            encoders=encoders,
            decoders=decoders,
            defaults=tuple(None if each.default is MISSING else each.default for each in stored),
            counts=tuple(name for name, hint in hints.items() if hint is Counts),
            inline=inline,
            former={name: _PLAIN[type(value)][0](value) for name, value in getattr(cls, "FORMER", {}).items()},
        )
    return _PLANS[cls]


def _type_without_none(hint: Any) -> Any:
    """The type without None (`str` for `str | None`): fields that are None have no attribute."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(arm for arm in typing.get_args(hint) if arm is not type(None))
    return hint


def _codec(hint: Any) -> tuple[Encode, Decode]:
    """How values of a type are written and read."""
    if typing.get_origin(hint) is tuple:
        write, read = _codec(hint.__args__[0])
        return lambda values: {"L": [write(each) for each in values]}, lambda value: tuple(_read(read, value))
    if is_dataclass(hint):
        cls = typing.cast(type, hint)
        return lambda value: {"M": encode(value)}, lambda value: decode(cls, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _text, hint
    return _PLAIN.get(hint, (_text, _same))


def _read(read: Decode, value: list[dict[str, Any]]) -> typing.Iterator[Any]:
    """The values of a list of attribute values of one type."""
    for attribute in value:
        (each,) = attribute.values()
        yield read(each)


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> dict[str, Any]:
    return {"S": value.value if isinstance(value, Enum) else value}


def _compressing(preset: bytes) -> tuple[Encode, Decode]:
    """How a COMPRESSED field is written and read. A stream itself says whether the preset dictionary is needed."""

    def deflate(text: str) -> dict[str, Any]:
        plain, compressor = text.encode(), zlib.compressobj(zdict=preset)
        deflated = compressor.compress(plain) + compressor.flush()
        return {"B": deflated} if len(deflated) < len(plain) else {"S": text}

    def inflate(value: str | bytes) -> str:
        return value if isinstance(value, str) else zlib.decompressobj(zdict=preset).decompress(value).decode()

    return deflate, inflate


_PLAIN: dict[Any, tuple[Encode, Decode]] = {
    **dict.fromkeys((BaseUnits, Uint256), (lambda value: {"S": str(value)}, int)),
    bool: (lambda value: {"BOOL": value}, _same),
    int: (lambda value: {"N": str(value)}, int),
    tuple: (lambda value: {"L": list(value)}, tuple),
    datetime: (
        lambda value: {"N": str(epoch_milliseconds(value))},
        lambda value: _EPOCH + int(value) * _MILLISECOND,
    ),
}
