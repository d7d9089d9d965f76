"""Sweeps over due records: a record that fails is logged and does not stop the others."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Self, TypeVar

from aws_lambda_powertools import Logger

T = TypeVar("T")


class SweepIncomplete(Exception):
    """Some records failed, and each failure is in the log. Makes the Lambda fail, which raises an alarm."""


class Sweep:
    """Runs the steps of a sweep: `with Sweep(log) as sweep: sweep.run(act, item)`.

    A step that fails is logged and does not stop the others. Raises SweepIncomplete at the end if one failed.
    """

    def __init__(self, log: Logger) -> None:
        self.log, self._failed = log, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._failed and kind is None:
            raise SweepIncomplete(f"{self._failed} records failed")

    def run(self, act: Callable[[T], int], item: T) -> int:
        """Calls `act` for an item, an id or a key, which the log shows; returns its result, 0 if it failed."""
        try:
            return act(item)
        except Exception:  # any failure: the next record may belong to another merchant
            self.log.exception("sweep failed", extra={"record": str(item)})
            self._failed += 1
            return 0


def in_time(log: Logger, clock: Callable[[], datetime], deadline: datetime, due: Iterable[T]) -> Iterator[T]:
    """The due items, as long as it is before `deadline`; a warning in the log says that some may be left."""
    for item in due:
        if clock() >= deadline:
            log.warning("sweep stopped before its end")
            return
        yield item


def each(log: Logger, due: Iterable[T], act: Callable[[T], bool]) -> int:
    """Calls `act` for each due item and returns how often it was true. Raises SweepIncomplete after the last one."""
    with Sweep(log) as sweep:
        return sum(sweep.run(act, item) for item in due)
