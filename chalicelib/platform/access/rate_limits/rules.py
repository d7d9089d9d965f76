"""Rate limits: calls a second of a credential at an address, units a minute of an account, and bans.

A unit is a call, or an item beyond the first that a call writes or asks a node for (`Input.items_written`). All secret
credentials of an account share its units. A client id that is sent alone is public: it has units of its own, for the
items it writes, so that a stranger who uses it cannot use up the account's, and one address has a share of them only,
so that a stranger cannot use up the others'. Tests of webhooks are counted apart, in the same way.

Windows are fixed and counted by conditional writes, so a limit is exact however many requests race. Refusals are
counted per minute: a caller with more refusals than allowed calls in a minute is banned for five minutes, and so is a
caller who looks up too many links that do not exist. Signing in and the provider's events have a window each and no
ban, so another customer at the same address can block them for a minute at most. A counter is one item for one caller
and one window, so callers share no partition, and no partition is hot for longer than its window.
"""

import hashlib
import ipaddress
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.platform.access.modes import Tier

BAN = timedelta(minutes=5)
ANONYMOUS, REFUSED = "anonymous", "refused"
"""Used in place of a credential's hash for callers who send no credential, and for those who send a wrong one."""

REQUESTS_PER_SECOND = {Tier.BASIC: 2, Tier.DEFAULT: 5, Tier.PREMIUM: 10, Tier.HIGH_VOLUME: 20}
UNITS_PER_MINUTE = 60 * REQUESTS_PER_SECOND[Tier.HIGH_VOLUME]
WEBHOOK_TESTS_PER_MINUTE = 10
DOMAIN_CHECKS_PER_HOUR = 30
NAMES_PER_MINUTE = 60
SAFE_REQUESTS_PER_MINUTE, SAFE_REQUESTS_OF_ACCOUNT, SAFE_REQUESTS_KEPT = 240, 60, 3
"""To the Safe Transaction Service, which allows some a second: of all accounts together, of one at most, and what each
account has for itself when the others have used up theirs."""
ADDRESS_SHARE = 4
"""One address has this part, a quarter, of what a client id that is sent alone has: 300 units and 3 tests a minute."""
SIGN_INS_PER_MINUTE = 10
PROVIDER_EVENTS_PER_MINUTE = 6000
UNKNOWN_TOKENS_PER_MINUTE = 30
FAILURES = 30
"""Refused sign-ins of one user from one address in 15 minutes."""
FAILURES_PER_DAY = 1000
"""Refused sign-ins of one user from all addresses, which limits guessing from many addresses."""


@frozen
class Window:
    """One counter: at most `limit` calls in `seconds`, until `ends_at`. `key` contains no credential."""

    key: str
    limit: int
    seconds: int
    ends_at: datetime


def caller_digest(credential_hash: str, ip_address: str) -> str:
    """A hash of credential and address. Of an IPv6 address its /64 counts, as one customer has all of its addresses."""
    return hashlib.sha256(f"{credential_hash}/{_network(ip_address)}".encode()).hexdigest()[:32]


def window(name: str, counted: str, limit: int, seconds: int, now: datetime) -> Window:
    """The window of `seconds` that an instant is in, by its name and that of what is counted."""
    number = int(now.timestamp()) // seconds
    ends_at = datetime.fromtimestamp((number + 1) * seconds, now.tzinfo)
    return Window(f"{name}#{counted}#{number}", limit, seconds, ends_at)


def tier_window(tier: Tier, caller: str, scale: int, now: datetime) -> Window:
    """The window of one second. `caller` is a `caller_digest`, here and in the other windows."""
    return window("tier", caller, REQUESTS_PER_SECOND[tier] * scale, 1, now)


def account_quota(account_id: str) -> str:
    """The name of an account's units."""
    return f"account/{account_id}"


def client_quota(record_id: str) -> str:
    """The name of the units of a client id that is sent alone."""
    return f"client/{record_id}"


def units_window(quota: str, scale: int, now: datetime) -> Window:
    """The window of one minute. `quota` is an `account_quota` or `client_quota`, here and in the next one."""
    return window("units", quota, UNITS_PER_MINUTE * scale, 60, now)


def webhook_test_window(quota: str, scale: int, now: datetime) -> Window:
    return window("webhook_test", quota, WEBHOOK_TESTS_PER_MINUTE * scale, 60, now)


def domain_check_window(account_id: str, scale: int, now: datetime) -> Window:
    """The window for checks of domains that an account asks for: each sends requests to servers of others."""
    return window("domain_check", account_quota(account_id), DOMAIN_CHECKS_PER_HOUR * scale, 60 * 60, now)


def name_window(account_id: str, scale: int, now: datetime) -> Window:
    """The window for names that an account has resolved: each asks nodes, and maybe servers of others."""
    return window("name", account_quota(account_id), NAMES_PER_MINUTE * scale, 60, now)


def safe_request_windows(account_id: str, scale: int, now: datetime) -> tuple[Window, Window, Window]:
    """The windows for requests to the Safe Transaction Service, whose quota all accounts share: the most of an account,
    what is kept for it, and what all have together."""
    quota = account_quota(account_id)
    return (
        window("safe_account", quota, SAFE_REQUESTS_OF_ACCOUNT * scale, 60, now),
        window("safe_kept", quota, SAFE_REQUESTS_KEPT * scale, 60, now),
        window("safe_all", ANONYMOUS, SAFE_REQUESTS_PER_MINUTE * scale, 60, now),
    )


def share_of(whole: Window, caller: str) -> Window:
    """The share of one caller, a `caller_digest`, in a window that all callers of a client id have together."""
    return replace(whole, key=f"{whole.key}#{caller}", limit=-(-whole.limit // ADDRESS_SHARE))


def sign_in_window(caller: str, scale: int, now: datetime) -> Window:
    return window("sign_in", caller, SIGN_INS_PER_MINUTE * scale, 60, now)


def provider_event_window(caller: str, scale: int, now: datetime) -> Window:
    return window("provider_event", caller, PROVIDER_EVENTS_PER_MINUTE * scale, 60, now)


def failure_windows(name: str, ip_address: str, scale: int, now: datetime) -> tuple[Window, Window]:
    """The windows for refused sign-ins of a user: from one address, and from all addresses.

    They are counted in this order, so that an address refused by the first window does not use up the second, which all
    addresses share.
    """
    user = hashlib.sha256(name.encode()).hexdigest()
    return (
        window("failure", caller_digest(user, ip_address), FAILURES * scale, 15 * 60, now),
        window("failure_day", user[:32], FAILURES_PER_DAY * scale, 24 * 60 * 60, now),
    )


def address_mail_window(name: str, kind: str, limit: int, now: datetime) -> Window:
    """The window of one hour for mails of a kind to an address."""
    return window(f"mail_{kind}", hashlib.sha256(name.encode()).hexdigest()[:32], limit, 60 * 60, now)


def account_mail_window(account_id: str, kind: str, limit: int, now: datetime) -> Window:
    """The window of one day for mails of a kind about an account."""
    return window(f"mail_{kind}_day", account_quota(account_id), limit, 24 * 60 * 60, now)


def unknown_token_window(caller: str, scale: int, now: datetime) -> Window:
    """The window for look-ups of links that do not exist. It stops callers who guess tokens."""
    return window("unknown_token", caller, UNKNOWN_TOKENS_PER_MINUTE * scale, 60, now)


def breach_window(refused: Window, caller: str, now: datetime) -> Window:
    """The window for refusals per minute; its limit is the number of calls that `refused` allows in a minute."""
    return window("breach", caller, refused.limit * 60 // refused.seconds, 60, now)


def seconds_until(instant: datetime, now: datetime) -> int:
    """Whole seconds, rounded up, for Retry-After and RateLimit-Reset; at least 1."""
    return max(1, -int((now - instant).total_seconds() // 1))


def _network(ip_address: str) -> str:
    if ":" not in ip_address:
        return ip_address
    try:
        return str(ipaddress.IPv6Network((ip_address, 64), strict=False))
    except ValueError:
        return ip_address
