"""What `make test` leaves to `make rehearsal`: single tests, and further values by which a test holds the same rule."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

rehearsed = pytest.mark.rehearsal
"""For a test whose rule quicker ones hold too."""


def few(quick: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """The values of a parameter, of which `make test` takes those in `quick`."""
    return [each if each in quick else pytest.param(each, marks=rehearsed) for each in values]


def parts(count: int) -> list[Any]:
    """The numbers of the parts into which a test divides what it tries, of which `make test` takes the first."""
    return few([0], range(count))
