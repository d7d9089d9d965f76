"""How often a caller may call: a limit a second for each credential and address, and a ban after a sustained breach.

Fixed windows, counted by conditional writes, so a limit is exact however many requests race. Refusals are counted by
the minute; a caller who is refused more often than they were allowed to call is banned for a while, and so is one who
asks for more links that do not exist than anybody does by mistake. Signing in has its window and no ban, so that
another customer at the same address can close it for a minute at most. A counter is one item of one caller and one
window, so no partition is shared by callers, nor hot for longer than its window.
"""

import hashlib
import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.access.modes import Tier

BAN = timedelta(minutes=5)
ANONYMOUS, REFUSED = "anonymous", "refused"
"""In place of a credential's hash: callers who send none, and who send a wrong one. Each has bans of its own."""


REQUESTS_PER_SECOND = {Tier.BASIC: 2, Tier.DEFAULT: 5, Tier.PREMIUM: 10, Tier.HIGH_VOLUME: 20}


SIGN_INS_PER_MINUTE = 10
UNKNOWN_TOKENS_PER_MINUTE = 30
FAILURES = 30
"""Refused sign-ins of one user from one address in a quarter of an hour."""
FAILURES_PER_DAY = 1000
"""Refused sign-ins of one user, wherever they come from: what guessing from many addresses comes to."""


@dataclass(frozen=True)
class Window:
    """One counter: at most `limit` in `seconds`, until `ends_at`. `key` is short and holds no credential."""

    key: str
    limit: int
    seconds: int
    ends_at: datetime


def caller_digest(credential_hash: str, ip_address: str) -> str:
    """Who is counted: a credential at an address; of IPv6 its /64, from which one customer may choose addresses."""
    return hashlib.sha256(f"{credential_hash}/{_line(ip_address)}".encode()).hexdigest()[:32]


def tier_window(tier: Tier, caller: str, scale: int, now: datetime) -> Window:
    """The window of a second for a caller, as `caller_digest` names them; so in all windows."""
    return _window("tier", caller, REQUESTS_PER_SECOND[tier] * scale, 1, now)


def sign_in_window(caller: str, scale: int, now: datetime) -> Window:
    return _window("sign_in", caller, SIGN_INS_PER_MINUTE * scale, 60, now)


def failure_windows(name: str, ip_address: str, scale: int, now: datetime) -> tuple[Window, Window]:
    """Of refused sign-ins of a user, such as guesses at a password: from one address, and from all of them.

    To be counted in this order: who is refused by the first does not use up the second for everybody else.
    """
    user = hashlib.sha256(name.encode()).hexdigest()
    return (
        _window("failure", caller_digest(user, ip_address), FAILURES * scale, 15 * 60, now),
        _window("failure_day", user[:32], FAILURES_PER_DAY * scale, 24 * 60 * 60, now),
    )


def unknown_token_window(caller: str, scale: int, now: datetime) -> Window:
    """Look-ups of links that do not exist: a caller who guesses tokens is stopped long before luck helps."""
    return _window("unknown_token", caller, UNKNOWN_TOKENS_PER_MINUTE * scale, 60, now)


def breach_window(refused: Window, caller: str, now: datetime) -> Window:
    """Counts refusals by the minute: one more than requests were allowed in it is a sustained breach."""
    return _window("breach", caller, refused.limit * 60 // refused.seconds, 60, now)


def seconds_until(instant: datetime, now: datetime) -> int:
    """Whole seconds, rounded up, for Retry-After and RateLimit-Reset; at least 1."""
    return max(1, -int((now - instant).total_seconds() // 1))


def _window(name: str, caller: str, limit: int, seconds: int, now: datetime) -> Window:
    number = int(now.timestamp()) // seconds
    ends_at = datetime.fromtimestamp((number + 1) * seconds, now.tzinfo)
    return Window(f"{name}#{caller}#{number}", limit, seconds, ends_at)


def _line(ip_address: str) -> str:
    try:
        address = ipaddress.ip_address(ip_address)
    except ValueError:
        return ip_address
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else ip_address
