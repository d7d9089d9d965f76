"""Figures: a measurement and its reference; timing and printing."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

ROUNDS = 9
_ROUND_SECONDS = 0.04


@dataclass(frozen=True)
class Figure:
    """A measurement and its reference; `ratio` is the value divided by the reference, and less of it is better.

    `goal` is the greatest ratio that is wanted, `least` the smallest, where less would be wrong; `note` is shown beside
    the name and may change.
    """

    name: str
    value: float
    unit: str
    compared_with: str
    reference: float
    goal: float | None = None
    least: float = 0
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.value / self.reference

    @property
    def key(self) -> str:
        """What it is known by from release to release."""
        return f"{self.name}, {self.unit} / {self.compared_with}"

    @property
    def is_missed(self) -> bool:
        return self.goal is not None and not self.least <= self.ratio <= self.goal

    def as_json(self) -> dict[str, str | float | None]:
        return {
            "name": self.name + self.note,
            "value": _significant(self.value),
            "unit": self.unit,
            "compared_with": self.compared_with,
            "reference": _significant(self.reference),
            "ratio": _significant(self.ratio),
            "goal": self.goal,
            "least": self.least,
        }


def cpu_seconds(*contenders: Callable[[], object]) -> list[float]:
    """Returns the CPU seconds of one call of each contender: medians of several rounds.

    Each round times all contenders, so that a machine that slows down does so for all of them.
    """
    counts = [_calls_in_a_round(each) for each in contenders]
    samples: list[list[float]] = [[] for _ in contenders]
    for _ in range(ROUNDS):
        for each, count, taken in zip(contenders, counts, samples, strict=True):
            taken.append(cpu(each, count) / count)
    return [statistics.median(taken) for taken in samples]


def table(figures: Iterable[Figure], released: Mapping[str, float] = {}) -> str:
    """Returns lines for a terminal, the missed goals first: whether it is missed, the goal, the ratio and what it is of.

    `released` are ratios by key; a ratio that is more than 5 % greater is followed by the one of then.
    """
    rows = [("", "goal", "figure", "", "", "")]
    for each in sorted(figures, key=lambda figure: not figure.is_missed):
        before = f" (worse: was {_short(released[each.key])})" if is_worse(each, released) else ""
        rows.append(
            (
                "missed" if each.is_missed else "",
                _goal(each),
                f"{_short(each.ratio)} x{before}",
                each.name + each.note,
                f"{_short(each.value)} {each.unit}",
                f"{each.compared_with}: {_short(each.reference)}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        "  ".join(["", *(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True))]).rstrip()
        for row in rows
    )


def is_worse(figure: Figure, released: Mapping[str, float]) -> bool:
    """Whether a ratio is more than 5 % greater than that of the release, if it has one."""
    return figure.ratio > 1.05 * released.get(figure.key, figure.ratio)


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    return f"{figure.least:.3g} to {figure.goal:.3g}" if figure.least else f"<= {figure.goal:.3g}"


def _calls_in_a_round(contender: Callable[[], object]) -> int:
    contender()
    count = 1
    while (taken := cpu(contender, count)) < _ROUND_SECONDS / 2:
        count *= 2 if taken else 8
    return count


def cpu(contender: Callable[[], object], count: int) -> float:
    """Returns the CPU seconds of so many calls."""
    started = time.process_time()
    for _ in range(count):
        contender()
    return time.process_time() - started


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _significant(value: float) -> float:
    return float(f"{value:.4g}")
