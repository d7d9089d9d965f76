"""Sweeps over due records: a record that fails is logged and does not stop the others."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Self, TypeVar

from aws_lambda_powertools import Logger

from chalicelib.platform.storage.store import Throttled

T = TypeVar("T")
_READ_AT_ONCE = 100


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

    def read(self, read: Callable[[Sequence[str]], Iterable[T]], ids: Iterable[str]) -> list[T]:
        """What `read` finds of these ids, of which it is given a hundred at once; if it fails, one at a time, so that
        one that cannot be read leaves out no others. Raises Throttled."""
        found, every = list[T](), list(ids)

        def read_one(id: str) -> int:
            found.extend(read([id]))
            return 1

        for start in range(0, len(every), _READ_AT_ONCE):
            part = every[start : start + _READ_AT_ONCE]
            try:
                found.extend(read(part))
            except Throttled:
                raise  # one at a time they would be, too, and take the time of the sweep
            except Exception:  # noqa: BLE001  any failure: `run` logs whose it is
                for id in part:
                    self.run(read_one, id)
        return found


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
