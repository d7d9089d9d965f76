"""Figures: a measurement and its reference; timing and printing."""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

ROUNDS = 9
_ROUND_SECONDS = 0.04


@dataclass(frozen=True)
class Figure:
    """A measurement and its reference; `ratio` is the value divided by the reference."""

    name: str
    value: float
    unit: str
    compared_with: str
    reference: float
    goal: str | None = None

    @property
    def ratio(self) -> float:
        return self.value / self.reference

    def as_json(self) -> dict[str, str | float | None]:
        return {
            "name": self.name,
            "value": _significant(self.value),
            "unit": self.unit,
            "compared_with": self.compared_with,
            "reference": _significant(self.reference),
            "ratio": _significant(self.ratio),
            "goal": self.goal,
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


def table(figures: Iterable[Figure]) -> str:
    """Returns lines for a terminal: name, value, reference, ratio, goal."""
    rows = [
        (
            figure.name,
            f"{_short(figure.value)} {figure.unit}",
            f"{figure.compared_with}: {_short(figure.reference)}",
            f"{_short(figure.ratio)} x" + (f" (goal {figure.goal})" if figure.goal else ""),
        )
        for figure in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {reference:<{widths[2]}}  {ratio}"
        for name, value, reference, ratio in rows
    )


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
