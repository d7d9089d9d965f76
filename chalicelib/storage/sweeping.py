"""Sweeps over due records: a record that fails is logged and does not stop the others."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from aws_lambda_powertools import Logger

T = TypeVar("T")


class SweepIncomplete(Exception):
    """Some records failed, and each failure is in the log. Makes the Lambda fail, which raises an alarm."""


def each(log: Logger, due: Iterable[T], act: Callable[[T], bool]) -> int:
    """Calls `act` for each due item and returns how often it was true. Raises SweepIncomplete after the last one."""
    done = failed = 0
    for item in due:
        try:
            done += act(item)
        except Exception:  # any failure: the next record may belong to another merchant
            log.exception("sweep failed", extra={"record": str(item)})
            failed += 1
    if failed:
        raise SweepIncomplete(f"{failed} records failed")
    return done
