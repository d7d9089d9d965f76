"""Sweeps: act on every record that is due, so that one record that fails does not hold up the others."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from aws_lambda_powertools import Logger

T = TypeVar("T")


class SweepIncomplete(Exception):
    """Some records failed; each is in the log. Raised at the end, so that the failure raises an alarm."""


def each(log: Logger, due: Iterable[T], act: Callable[[T], bool]) -> int:
    """Calls `act` for everything that is due; returns how often it did something. Raises SweepIncomplete at the end."""
    done = failed = 0
    for item in due:
        try:
            done += act(item)
        except Exception:  # whatever is wrong with one record, the next one is another merchant's
            log.exception("sweep failed", extra={"record": str(item)})
            failed += 1
    if failed:
        raise SweepIncomplete(f"{failed} records failed")
    return done
