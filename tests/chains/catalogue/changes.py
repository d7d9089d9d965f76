"""Data with one character changed, to show that a comparison notices each of them."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

_NEXT = {"9": "0", "f": "a", "F": "A", "z": "a", "Z": "A"}


def changes(value: object) -> Iterator[Any]:
    """The value with one character changed, at each place in turn; None and "" get one."""
    if value is None or value == "":
        yield "x"
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (int(text) for text in changes(str(value)))
    elif isinstance(value, tuple | list):
        yield from (
            type(value)([*value[:at], new, *value[at + 1 :]]) for at, old in enumerate(value) for new in changes(old)
        )
        yield type(value)([*value, "x"])
    elif isinstance(value, str):
        yield from (value[:at] + _next(old) + value[at + 1 :] for at, old in enumerate(value))
    else:
        raise TypeError(f"no data: {value!r}")


def changed_leaves(data: Any) -> Iterator[tuple[str, Any]]:
    """Nested dicts with one leaf changed by one character, each with the path of the leaf."""
    for path, leaf in _leaves(data, ()):
        for new in changes(leaf):
            copy = deepcopy(data)
            inner = copy
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = new
            yield "/".join(path), copy


def _leaves(data: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    else:
        yield path, data


def _next(character: str) -> str:
    return _NEXT.get(character, chr(ord(character) + 1))
