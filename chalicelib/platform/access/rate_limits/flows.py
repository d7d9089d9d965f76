"""Counts calls against rate limits, refuses those above a limit, and bans callers who keep exceeding it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from chalicelib.base.errors import BadRequest, TooManyRequests
from chalicelib.base.frozen import frozen
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.access.rate_limits import rules, store
from chalicelib.platform.access.rate_limits.records import Ban
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import Throttled

_THROTTLED_SECONDS = 1


@frozen
class Allowance:
    """How many calls or units are left in a window after this call; `reset` is in seconds."""

    limit: int
    remaining: int
    reset: int


def count_call(services: Services, caller: Caller, rate: Rate) -> Allowance:
    """Counts one call of the caller. Returns what is left in the window that has the least left.

    Raises TooManyRequests above a limit, or while the caller is banned. Signing in, events of the provider and tests of
    webhooks are counted in windows of their own, which do not lead to a ban: others at the same address could cause
    that of the first two.
    """
    now, scale = services.clock(), services.settings.rate_limit_scale
    if rate is Rate.SIGN_IN:
        return _count_apart(services, [rules.sign_in_window(caller.digest, scale, now)], now)[0]
    if rate is Rate.PROVIDER_EVENT:
        return _count_apart(services, [rules.provider_event_window(caller.digest, scale, now)], now)[0]
    window = rules.tier_window(caller.tier, caller.digest, scale, now)
    if caller.banned_until is not None and now < caller.banned_until:
        raise TooManyRequests(rules.seconds_until(caller.banned_until, now), window.limit)
    if rate is Rate.WEBHOOK_TEST and caller.quota is not None:
        tests = rules.webhook_test_window(caller.quota, scale, now)
        return _least(_count_apart(services, _windows_of(caller, tests), now))
    return _count_call(services, caller, window, now)


def count_items(services: Services, caller: Caller, items: int) -> tuple[Allowance, ...]:
    """Counts the items that a call is about to write, as far as counting the call has not done it.

    Returns what is left, if anything was counted. Raises TooManyRequests if they do not all fit; then none is counted.
    Raises BadRequest for more than one address may ever write with a client id alone.
    """
    units = items if caller.mode is Mode.CLIENT_ID else items - 1
    if caller.quota is None or units < 1:
        return ()
    now = services.clock()
    windows = _windows_of(caller, rules.units_window(caller.quota, services.settings.rate_limit_scale, now))
    if units > windows[0].limit:
        raise BadRequest(
            f"A client ID alone writes at most {windows[0].limit} items a minute from one address, and these are "
            f"{units}: send fewer at a time, or an API key"
        )
    return _count_apart(services, windows, now, units)


def _windows_of(caller: Caller, whole: rules.Window) -> list[rules.Window]:
    """What a call is counted in: with a client id alone first the share of its address, so that an address that has
    used it up takes nothing of the whole."""
    return [rules.share_of(whole, caller.digest), whole] if caller.mode is Mode.CLIENT_ID else [whole]


def _count_call(services: Services, caller: Caller, window: rules.Window, now: datetime) -> Allowance:
    """Counts a call in the window of its credential and in that of its account, at the same time.

    A call that the first window refuses takes no unit of the account, so that one key cannot use them up by insisting.
    A client id that is sent alone uses units only for what it writes.
    """
    windows = [window]
    if caller.quota is not None and caller.mode is not Mode.CLIENT_ID:
        windows.append(rules.units_window(caller.quota, services.settings.rate_limit_scale, now))
    try:
        counts = store.count_in_each(services.store, windows)
    except Throttled:
        raise TooManyRequests(_THROTTLED_SECONDS, window.limit) from None
    if counts[0] is None:
        uncount(services, *(each for each, used in zip(windows, counts, strict=True) if used is not None))
        if count(services, rules.breach_window(window, caller.digest, now)) is None:
            raise _ban(services, caller, window, now)
    return _least(_allowance(each, used, now) for each, used in zip(windows, counts, strict=True))


def _least(allowances: Iterable[Allowance]) -> Allowance:
    return min(allowances, key=lambda allowance: allowance.remaining)


def _count_apart(
    services: Services, windows: Sequence[rules.Window], now: datetime, units: int = 1
) -> tuple[Allowance, ...]:
    """Counts in each window in order. Raises TooManyRequests at the first full one; then none of them is counted."""
    allowances = list[Allowance]()
    for number, window in enumerate(windows):
        try:
            allowances.append(_allowance(window, count(services, window, units), now))
        except TooManyRequests:
            uncount(services, *windows[:number], units=units)
            raise
    return tuple(allowances)


def count_unknown_token(services: Services, caller: Caller) -> None:
    """Counts a look-up of a link that does not exist. Above the limit, bans the caller and raises TooManyRequests.

    Refusing only unknown tokens would not stop a caller who guesses, as the tokens that exist would still be found.
    """
    now = services.clock()
    window = rules.unknown_token_window(caller.digest, services.settings.rate_limit_scale, now)
    if count(services, window) is None:
        raise _ban(services, caller, window, now)


def count_in_all(services: Services, *windows: rules.Window, units: int = 1) -> int:
    """Counts one call, or so many units, in each window, in order. Returns the count of the last window.

    Raises TooManyRequests at the first full window; the windows after it are not counted.
    """
    used = 0
    for window in windows:
        counted = count(services, window, units)
        if counted is None:
            raise TooManyRequests(rules.seconds_until(window.ends_at, services.clock()), window.limit)
        used = counted
    return used


def count_safe_requests(services: Services, account_id: str, requests: int) -> None:
    """Counts requests to the Safe Transaction Service for an account. Two writes, a third one once what is kept for the
    account is used. Raises TooManyRequests if they do not fit; then none is counted."""
    of_account, kept, of_all = rules.safe_request_windows(
        account_id, services.settings.rate_limit_scale, services.clock()
    )
    count_in_all(services, of_account, units=requests)
    if count(services, kept, requests) is None:
        try:
            count_in_all(services, of_all, units=requests)
        except TooManyRequests:
            uncount(services, of_account, units=requests)
            raise


def uncount(services: Services, *windows: rules.Window, units: int = 1) -> None:
    """Takes back what was counted in each window. If DynamoDB throttles a counter, it stays counted there."""
    for window in windows:
        with suppress(Throttled):
            store.uncount(services.store, window, units)


def count(services: Services, window: rules.Window, units: int = 1) -> int | None:
    """Counts one call or so many units; returns None if the window is full.

    Raises TooManyRequests if DynamoDB throttles the counter.

    Accepting a call that could not be counted would lift the limit under load. One counter is throttled only if its own
    caller makes too many calls; if the whole table is throttled, all callers have to wait a second. Any other failure
    of DynamoDB is a 500.
    """
    try:
        return store.count(services.store, window, units)
    except Throttled:
        raise TooManyRequests(_THROTTLED_SECONDS, window.limit) from None


def _allowance(window: rules.Window, used: int | None, now: datetime) -> Allowance:
    """What is left of a window. Raises TooManyRequests if it is full: `used` is None."""
    if used is None:
        raise TooManyRequests(rules.seconds_until(window.ends_at, now), window.limit)
    return Allowance(window.limit, window.limit - used, rules.seconds_until(window.ends_at, now))


def _ban(services: Services, caller: Caller, window: rules.Window, now: datetime) -> TooManyRequests:
    try_write(services.store, Ban(caller.digest, now + rules.BAN, version=caller.ban_version))
    return TooManyRequests(rules.seconds_until(now + rules.BAN, now), window.limit)
