"""The expressions of DynamoDB that the product's storage sends: conditions and filters, key conditions, updates.

Each text is read once into a small tree. What is not in this grammar raises NotImplementedError:

    condition  = all { "OR" all }            all = one { "AND" one }
    one        = "(" condition ")" | path comparator (value | path) | path "BETWEEN" value "AND" value
               | "attribute_exists(" path ")" | "attribute_not_exists(" path ")" | "begins_with(" path "," value ")"
    update     = { "SET" path "=" value, ... | "REMOVE" path, ... | "ADD" path value, ... }
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

Item = Mapping[str, Any]
"""Attribute values by name, in the form of the DynamoDB API."""
_TOKEN = re.compile(r"\s*(#\w+|:\w+|\w+|<=|>=|[=<>(),])")
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_WORDS = {"SET", "REMOVE", "ADD", "AND", "OR", "BETWEEN"}


class Refused(Exception):
    """DynamoDB refuses the call; `more` are fields of its response beside the error."""

    def __init__(self, message: str, code: str = "ValidationException", **more: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.more = code, message, more


class One(NamedTuple):
    """A comparison: a path and the names of values, or in a filter another path."""

    comparator: str
    path: str
    values: tuple[str, ...] = ()


class Several(NamedTuple):
    """Conditions, of which all or any must hold."""

    holds: Callable[[Any], bool]
    parts: "tuple[One | Several, ...]"


Condition = One | Several


@dataclass
class Update:
    sets: list[tuple[str, str]] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    adds: list[tuple[str, str]] = field(default_factory=list)


class Given:
    """The names and values that come with the expressions of one call: all of them must be used."""

    def __init__(self, names: Mapping[str, str] | None, values: Item | None, *expressions: str | None) -> None:
        self.names, self.values = names or {}, values or {}
        used = frozenset[str]().union(*(_placeholders(each) for each in expressions if each))
        given = self.names.keys() | self.values.keys()
        if used != given:
            raise Refused(f"names and values that are not defined, or not used in expressions: {sorted(used ^ given)}")

    def name(self, path: str) -> str:
        return self.names[path] if path[0] == "#" else path

    def holds(self, condition: Condition, item: Item) -> bool:
        if isinstance(condition, Several):
            return condition.holds(self.holds(each, item) for each in condition.parts)
        stored = item.get(self.name(condition.path))
        match condition.comparator:
            case "attribute_exists":
                return stored is not None
            case "attribute_not_exists":
                return stored is None
        values = [self.values[each] if each[0] == ":" else item.get(self.name(each), {}) for each in condition.values]
        return stored is not None and compare(condition.comparator, stored, values)


def compare(comparator: str, stored: Item, values: list[Item]) -> bool:
    """Whether a stored value compares so with the given ones; values of different types do not."""
    ((kind, left),) = stored.items()
    rights = [each.get(kind) for each in values]
    if None in rights:
        return False
    if kind == "N":
        left, rights = int(left), [int(each) for each in rights]
    if comparator == "BETWEEN":
        return bool(rights[0] <= left <= rights[1])
    return bool(left.startswith(rights[0]) if comparator == "begins_with" else _ORDER[comparator](left, rights[0]))


@cache
def parse_condition(text: str) -> Condition:
    tokens = _Tokens(text)
    condition = _any(tokens)
    tokens.end()
    return condition


@cache
def parse_update(text: str) -> Update:
    tokens, update, clauses = _Tokens(text), Update(), list[str]()
    while tokens.left:
        clauses.append(tokens.take("SET", "REMOVE", "ADD"))
        while True:
            path = tokens.path()
            if clauses[-1] == "SET":
                tokens.take("=")
                update.sets.append((path, tokens.value()))
            elif clauses[-1] == "ADD":
                update.adds.append((path, tokens.value()))
            else:
                update.removes.append(path)
            if not tokens.skip(","):
                break
    if not clauses or len(set(clauses)) < len(clauses):
        raise NotImplementedError(text)
    return update


class _Tokens:
    def __init__(self, text: str) -> None:
        self._text, end = text, 0
        self.left: list[str] = []
        while match := _TOKEN.match(text, end):
            self.left.append(match[1])
            end = match.end()
        if text[end:].strip():
            raise NotImplementedError(text)
        self.left.reverse()

    def skip(self, *wanted: str) -> bool:
        """Whether the next one is one of these, and is passed."""
        is_next = bool(self.left) and self.left[-1] in wanted
        if is_next:
            self.left.pop()
        return is_next

    def take(self, *wanted: str) -> str:
        token = self.left.pop() if self.left else ""
        if token not in wanted:
            raise NotImplementedError(f"{self._text}: {token or 'its end'} in place of {' or '.join(wanted)}")
        return token

    def path(self) -> str:
        """The name of an attribute, or its placeholder. Raises Refused for a reserved word."""
        path = self.left.pop() if self.left else ""
        if not re.fullmatch(r"#?\w+", path) or path in _WORDS:
            raise NotImplementedError(self._text)
        if path.upper() in _reserved():
            raise Refused(f"Attribute name is a reserved keyword: {path}")
        return path

    def value(self) -> str:
        value = self.left.pop() if self.left else ""
        if value[:1] != ":":
            raise NotImplementedError(self._text)
        return value

    def end(self) -> None:
        if self.left:
            raise NotImplementedError(self._text)


def _any(tokens: _Tokens) -> Condition:
    parts = [_all(tokens)]
    while tokens.skip("OR"):
        parts.append(_all(tokens))
    return parts[0] if len(parts) == 1 else Several(any, tuple(parts))


def _all(tokens: _Tokens) -> Condition:
    parts = [_one(tokens)]
    while tokens.skip("AND"):
        parts.append(_one(tokens))
    return parts[0] if len(parts) == 1 else Several(all, tuple(parts))


def _one(tokens: _Tokens) -> Condition:
    if tokens.skip("("):
        condition = _any(tokens)
        tokens.take(")")
        return condition
    first = tokens.path()
    if tokens.skip("("):
        path, values = tokens.path(), list[str]()
        while tokens.skip(","):
            values.append(tokens.value())
        tokens.take(")")
        if len(values) != {"attribute_exists": 0, "attribute_not_exists": 0, "begins_with": 1}.get(first):
            raise NotImplementedError(first)
        return One(first, path, tuple(values))
    comparator = tokens.take(*_ORDER, "BETWEEN")
    values = [tokens.value() if tokens.left and tokens.left[-1][0] == ":" else tokens.path()]
    if comparator == "BETWEEN":
        tokens.take("AND")
        values.append(tokens.value())
    return One(comparator, first, tuple(values))


@cache
def _placeholders(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[#:]\w+", text))


@cache
def _reserved() -> frozenset[str]:
    """The words that DynamoDB does not take as names, from the list that moto brings."""
    moto = find_spec("moto")
    assert moto is not None and moto.origin is not None
    words = Path(moto.origin).parent / "dynamodb" / "parsing" / "reserved_keywords.txt"
    return frozenset(words.read_text().split())
