"""Sweeps: act on every record whose time has come, and let no bad one keep the others waiting."""

from collections.abc import Callable, Iterable

from chalicelib.base.records import Key
from chalicelib.services import Services


class SweepIncomplete(Exception):
    """Some records failed; each is in the log. Raised at the end, so that the failure raises an alarm."""


def each(services: Services, keys: Iterable[Key], act: Callable[[Key], bool]) -> int:
    """Calls `act` for every key; returns how often it did something. Raises SweepIncomplete after the last one."""
    done = failed = 0
    for key in keys:
        try:
            done += act(key)
        except Exception:  # whatever is wrong with one record, the next one is another merchant's
            services.log.exception("sweep failed", extra={"record": key.pk})
            failed += 1
    if failed:
        raise SweepIncomplete(f"{failed} records failed")
    return done
