"""Fields of a body: what is wrong with each, by its path."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from chalicelib.base.errors import BadRequest, Problem, ValidationFailed

S = TypeVar("S")
T = TypeVar("T")
Path = tuple[str, ...]
"""The fields of a body that lead to a value: `("requests", "0", "payee")`, or `("payee",)` for a body that is one."""


def for_each(entries: Sequence[S], make: Callable[[S, Path], T]) -> list[T]:
    """What `make` returns for each entry of `requests[]` and its path. Raises ValidationFailed with all problems."""
    made: list[T] = []
    problems: list[Problem] = []
    for position, entry in enumerate(entries):
        try:
            made.append(make(entry, ("requests", str(position))))
        except ValidationFailed as error:
            problems += error.problems
    if problems:
        raise ValidationFailed(tuple(problems))
    return made


def parse_field(path: Path, parse: Callable[[str], T], text: str) -> T:
    """`parse(text)`. Raises ValidationFailed with the field's path where it raises BadRequest."""
    try:
        return parse(text)
    except BadRequest as error:
        raise refuse_field(path, error.message) from None


def refuse_field(path: Path, message: str) -> ValidationFailed:
    """The error for one field."""
    return ValidationFailed((Problem(path, message),))
