"""Counts calls against rate limits, refuses those above a limit, and bans callers who keep exceeding it."""

from contextlib import suppress
from datetime import datetime

from chalicelib.access.callers import Caller
from chalicelib.access.modes import Rate
from chalicelib.access.rate_limits import store
from chalicelib.access.rate_limits.records import Ban
from chalicelib.access.rate_limits.rules import (
    BAN,
    Window,
    breach_window,
    seconds_until,
    sign_in_window,
    tier_window,
    unknown_token_window,
)
from chalicelib.base.errors import TooManyRequests
from chalicelib.base.frozen import frozen
from chalicelib.services import Services
from chalicelib.storage.store import Throttled, WriteConflict

_THROTTLED_SECONDS = 1


@frozen
class Allowance:
    """How many calls are left in a window after this call; `reset` is in seconds."""

    limit: int
    remaining: int
    reset: int


def count_call(services: Services, caller: Caller, rate: Rate) -> Allowance:
    """Counts one call of the caller. Raises TooManyRequests above the limit, or while the caller is banned.

    Signing in has a window and no ban, as others at the same address could cause the ban.
    """
    now, scale = services.clock(), services.settings.rate_limit_scale
    if rate is Rate.SIGN_IN:
        window = sign_in_window(caller.digest, scale, now)
        return _allowance(window, count_in_all(services, window), now)
    window = tier_window(caller.tier, caller.digest, scale, now)
    if caller.banned_until is not None and now < caller.banned_until:
        raise TooManyRequests(seconds_until(caller.banned_until, now), window.limit)
    used = count(services, window)
    if used is not None:
        return _allowance(window, used, now)
    if count(services, breach_window(window, caller.digest, now)) is None:
        raise _ban(services, caller, window, now)
    raise TooManyRequests(seconds_until(window.ends_at, now), window.limit)


def count_unknown_token(services: Services, caller: Caller) -> None:
    """Counts a look-up of a link that does not exist. Above the limit, bans the caller and raises TooManyRequests.

    Refusing only unknown tokens would not stop a caller who guesses, as the tokens that exist would still be found.
    """
    now = services.clock()
    window = unknown_token_window(caller.digest, services.settings.rate_limit_scale, now)
    if count(services, window) is None:
        raise _ban(services, caller, window, now)


def count_in_all(services: Services, *windows: Window) -> int:
    """Counts one call in each window, in order. Returns the count of the last window.

    Raises TooManyRequests at the first full window; the windows after it are not counted.
    """
    used = 0
    for window in windows:
        counted = count(services, window)
        if counted is None:
            raise TooManyRequests(seconds_until(window.ends_at, services.clock()), window.limit)
        used = counted
    return used


def uncount(services: Services, *windows: Window) -> None:
    """Takes back what `count_in_all` counted. If DynamoDB throttles a counter, the call stays counted there."""
    for window in windows:
        with suppress(Throttled):
            store.uncount(services.store, window)


def count(services: Services, window: Window) -> int | None:
    """Counts one call; returns None if the window is full. Raises TooManyRequests if DynamoDB throttles the counter.

    Accepting a call that could not be counted would lift the limit under load. One counter is throttled only if its own
    caller makes too many calls; if the whole table is throttled, all callers have to wait a second. Any other failure
    of DynamoDB is a 500.
    """
    try:
        return store.count(services.store, window)
    except Throttled:
        raise TooManyRequests(_THROTTLED_SECONDS, window.limit) from None


def _allowance(window: Window, used: int, now: datetime) -> Allowance:
    return Allowance(window.limit, window.limit - used, seconds_until(window.ends_at, now))


def _ban(services: Services, caller: Caller, window: Window, now: datetime) -> TooManyRequests:
    with suppress(WriteConflict):  # another request wrote the ban
        services.store.write(Ban(caller.digest, now + BAN, caller.ban_version))
    return TooManyRequests(seconds_until(now + BAN, now), window.limit)
