"""Rate limits: counts a call, refuses the one too many, and shuts out who goes on."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from chalicelib.access.callers import Caller
from chalicelib.access.modes import Rate
from chalicelib.access.rate_limits.records import Block
from chalicelib.access.rate_limits.rules import (
    BLOCK,
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
    """Counts one call of the caller. Raises TooManyRequests beyond the limit, or while the caller is shut out.

    Signing in is held to its window alone: nobody is shut out of it for what others at the same address do.
    """
    now, scale = services.clock(), services.settings.rate_limit_scale
    if rate is Rate.SIGN_IN:
        window = sign_in_window(caller.digest, scale, now)
        return _allowance(window, hold(services, window), now)
    window = tier_window(caller.tier, caller.digest, scale, now)
    if caller.blocked_until is not None and now < caller.blocked_until:
        raise TooManyRequests(seconds_until(caller.blocked_until, now), window.limit)
    used = count(services, window)
    if used is not None:
        return _allowance(window, used, now)
    if count(services, breach_window(window, caller.digest, now)) is None:
        raise _shut_out(services, caller, window, now)
    raise TooManyRequests(seconds_until(window.ends_at, now), window.limit)


def spend_unknown_token(services: Services, caller: Caller) -> None:
    """Counts a look-up of a link that does not exist. Raises TooManyRequests and shuts out one who seems to guess.

    To refuse the unknown ones alone would not hinder a guesser: the one that is known would still be answered.
    """
    now = services.clock()
    window = unknown_token_window(caller.digest, services.settings.rate_limit_scale, now)
    if count(services, window) is None:
        raise _shut_out(services, caller, window, now)


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
            services.store.uncount(window)


def count(services: Services, window: Window) -> int | None:
    """Counts, or refuses without counting: a limit that gives way under load is none, and 429 asks to come again.

    None when the window is full. Only a flood of the caller's own makes one counter refuse writes, and then the answer
    is right; when the whole table does, others wait a second too. A counter that is unreachable is a failure like that
    of any table: 500.
    """
    try:
        return services.store.count(window)
    except Throttled:
        raise TooManyRequests(_THROTTLED_SECONDS, window.limit) from None


def _allowance(window: Window, used: int, now: datetime) -> Allowance:
    return Allowance(window.limit, window.limit - used, seconds_until(window.ends_at, now))


def _shut_out(services: Services, caller: Caller, window: Window, now: datetime) -> TooManyRequests:
    with suppress(WriteConflict):  # shut out by another request already
        services.store.write(Block(caller.digest, now + BLOCK, caller.block_version))
    return TooManyRequests(seconds_until(now + BLOCK, now), window.limit)
