"""Rate limits: counts a call, refuses one beyond the limit, and bans a caller who goes on."""

from contextlib import suppress
from dataclasses import dataclass
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
from chalicelib.services import Services
from chalicelib.storage.store import Throttled, WriteConflict

_THROTTLED_SECONDS = 1


@dataclass(frozen=True)
class Allowance:
    """What is left of a window after this call."""

    limit: int
    remaining: int
    reset: int


def spend(services: Services, caller: Caller, rate: Rate) -> Allowance:
    """Counts one call of the caller. Raises TooManyRequests beyond the limit, or while the caller is banned.

    Signing in has its window and no ban: others at the same address could cause one.
    """
    now, scale = services.clock(), services.settings.rate_limit_scale
    if rate is Rate.SIGN_IN:
        window = sign_in_window(caller.digest, scale, now)
        return _allowance(window, hold(services, window), now)
    window = tier_window(caller.tier, caller.digest, scale, now)
    if caller.banned_until is not None and now < caller.banned_until:
        raise TooManyRequests(seconds_until(caller.banned_until, now), window.limit)
    used = count(services, window)
    if used is not None:
        return _allowance(window, used, now)
    if count(services, breach_window(window, caller.digest, now)) is None:
        raise _banned(services, caller, window, now)
    raise TooManyRequests(seconds_until(window.ends_at, now), window.limit)


def spend_unknown_token(services: Services, caller: Caller) -> None:
    """Counts a look-up of a link that does not exist. Raises TooManyRequests and bans a caller who seems to guess.

    Refusing only unknown tokens would not stop a guesser: a token that exists would still be answered.
    """
    now = services.clock()
    window = unknown_token_window(caller.digest, services.settings.rate_limit_scale, now)
    if count(services, window) is None:
        raise _banned(services, caller, window, now)


def hold(services: Services, *windows: Window) -> int:
    """Counts in each window, in their order, and stops at one that is full. Raises TooManyRequests.

    Returns the count of the last one.
    """
    used = 0
    for window in windows:
        counted = count(services, window)
        if counted is None:
            raise TooManyRequests(seconds_until(window.ends_at, services.clock()), window.limit)
        used = counted
    return used


def give_back(services: Services, *windows: Window) -> None:
    """Takes back what `hold` counted. Under a throttle it stays counted, which costs one try."""
    for window in windows:
        with suppress(Throttled):
            store.uncount(services.store, window)


def count(services: Services, window: Window) -> int | None:
    """Counts one call; None when the window is full. Raises TooManyRequests when DynamoDB throttles the counter.

    Letting such a call pass would open the limit under load. One counter is throttled only by a flood of its own
    caller; when the whole table is, others have to wait a second too. A counter that cannot be reached fails as any
    table does: 500.
    """
    try:
        return store.count(services.store, window)
    except Throttled:
        raise TooManyRequests(_THROTTLED_SECONDS, window.limit) from None


def _allowance(window: Window, used: int, now: datetime) -> Allowance:
    return Allowance(window.limit, window.limit - used, seconds_until(window.ends_at, now))


def _banned(services: Services, caller: Caller, window: Window, now: datetime) -> TooManyRequests:
    with suppress(WriteConflict):  # another request has written the ban
        services.store.write(Ban(caller.digest, now + BAN, caller.ban_version))
    return TooManyRequests(seconds_until(now + BAN, now), window.limit)
