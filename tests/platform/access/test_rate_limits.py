"""Windows of rate limits: whose they are, how much they admit, when they end."""

from datetime import timedelta

import pytest

from chalicelib.platform.access.modes import Tier
from chalicelib.platform.access.rate_limits.rules import (
    BAN,
    FAILURES,
    FAILURES_PER_DAY,
    REQUESTS_PER_SECOND,
    UNITS_PER_MINUTE,
    account_quota,
    breach_window,
    caller_digest,
    client_quota,
    failure_windows,
    provider_event_window,
    seconds_until,
    share_of,
    sign_in_window,
    tier_window,
    units_window,
    unknown_token_window,
    webhook_test_window,
)
from chalicelib.platform.settings import MOST_CHILDREN
from tests.fakes.world import START

CALLER = caller_digest("hash", "203.0.113.7")


def test_the_tiers_are_2_5_10_and_20_requests_a_second() -> None:
    assert [REQUESTS_PER_SECOND[tier] for tier in Tier] == [2, 5, 10, 20]


@pytest.mark.parametrize("tier", Tier)
def test_a_window_of_a_tier_is_one_second_of_one_caller(tier: Tier) -> None:
    window = tier_window(tier, CALLER, 1, START)
    assert (window.limit, window.seconds, window.ends_at) == (REQUESTS_PER_SECOND[tier], 1, START + timedelta(seconds=1))
    same = tier_window(tier, CALLER, 1, START + timedelta(milliseconds=999))
    assert same == window
    assert tier_window(tier, CALLER, 1, START + timedelta(seconds=1)).key != window.key
    assert tier_window(tier, caller_digest("hash", "203.0.113.8"), 1, START).key != window.key
    assert tier_window(tier, caller_digest("other", "203.0.113.7"), 1, START).key != window.key


def test_the_scale_multiplies_every_limit() -> None:
    for make in (sign_in_window, unknown_token_window, units_window, webhook_test_window, provider_event_window):
        assert make(CALLER, 7, START).limit == 7 * make(CALLER, 1, START).limit
    assert tier_window(Tier.BASIC, CALLER, 7, START).limit == 14


def test_a_breach_is_as_many_refusals_in_a_minute_as_calls_were_allowed_in_it() -> None:
    of_a_second, of_a_minute = tier_window(Tier.DEFAULT, CALLER, 1, START), sign_in_window(CALLER, 1, START)
    for refused, limit in ((of_a_second, 300), (of_a_minute, 10)):
        breach = breach_window(refused, CALLER, START)
        assert (breach.limit, breach.seconds) == (limit, 60)
    assert timedelta(minutes=5) == BAN


def test_signing_in_unknown_tokens_and_events_of_the_provider_are_counted_by_the_minute() -> None:
    inside = START + timedelta(seconds=59)
    counted = (
        (sign_in_window(CALLER, 1, inside), 10),
        (unknown_token_window(CALLER, 1, inside), 30),
        (provider_event_window(CALLER, 1, inside), 6000),
    )
    for window, limit in counted:
        assert (window.limit, window.seconds, window.ends_at) == (limit, 60, START + timedelta(minutes=1))


def test_an_account_has_the_units_of_the_highest_tier_in_a_minute() -> None:
    window = units_window(account_quota("01A"), 1, START + timedelta(seconds=59))
    assert (window.limit, window.seconds, window.ends_at) == (60 * 20, 60, START + timedelta(minutes=1))
    assert units_window(account_quota("01A"), 1, START + timedelta(minutes=1)).key != window.key
    quotas = account_quota("01A"), account_quota("01B"), client_quota("01A")
    assert len({units_window(quota, 1, START).key for quota in quotas}) == 3
    tests = webhook_test_window(account_quota("01A"), 2, START)
    assert (tests.limit, tests.seconds) == (2 * 10, 60)


def test_an_address_has_a_quarter_of_a_window_and_no_other_has_that_part() -> None:
    whole, tests = units_window(client_quota("01A"), 1, START), webhook_test_window(client_quota("01A"), 1, START)
    share = share_of(whole, CALLER)
    assert (share.limit, share.seconds, share.ends_at) == (300, whole.seconds, whole.ends_at)
    assert share_of(tests, CALLER).limit == 3, "rounded up: nobody's share is nothing"
    other = share_of(whole, caller_digest("hash", "203.0.113.8"))
    next_minute = share_of(units_window(client_quota("01A"), 1, START + timedelta(minutes=1)), CALLER)
    assert len({each.key for each in (whole, share, other, next_minute, tests, share_of(tests, CALLER))}) == 6


def test_the_largest_call_fits_into_an_empty_window() -> None:
    """Otherwise it would be refused for ever."""
    assert MOST_CHILDREN < UNITS_PER_MINUTE


def test_windows_of_different_purposes_are_counted_apart() -> None:
    made = [
        tier_window(Tier.DEFAULT, CALLER, 1, START),
        sign_in_window(CALLER, 1, START),
        unknown_token_window(CALLER, 1, START),
        units_window(CALLER, 1, START),
        webhook_test_window(CALLER, 1, START),
        provider_event_window(CALLER, 1, START),
    ]
    made.append(breach_window(made[0], CALLER, START))
    assert len({window.key for window in made}) == 7


def test_addresses_of_one_ipv6_line_are_one_caller_and_of_ipv4_each_is_its_own() -> None:
    def digest(address: str) -> str:
        return caller_digest("", address)

    assert digest("2001:db8:1:2::1") == digest("2001:db8:1:2:ffff:ffff:ffff:ffff") == digest("2001:0DB8:1:2::abcd")
    assert digest("2001:db8:1:2::1") != digest("2001:db8:1:3::1")
    assert digest("203.0.113.7") != digest("203.0.113.8")
    assert digest("") == digest("") != digest("nonsense")


def test_failures_of_a_user_are_counted_for_an_address_and_for_all_of_them() -> None:
    one, day = failure_windows("ann@example.com", "203.0.113.7", 2, START)
    assert (one.limit, one.seconds, day.limit, day.seconds) == (2 * FAILURES, 900, 2 * FAILURES_PER_DAY, 86400)
    other_one, same_day = failure_windows("ann@example.com", "203.0.113.8", 2, START)
    assert other_one.key != one.key and same_day == day
    others = failure_windows("bob@example.com", "203.0.113.7", 2, START)
    assert {window.key for window in others}.isdisjoint({one.key, day.key})
    assert "ann" not in one.key + day.key
    assert len(day.key.split("#")[1]) == len(CALLER) == 32


def test_a_key_names_no_credential() -> None:
    assert "hash" not in tier_window(Tier.DEFAULT, CALLER, 1, START).key


@pytest.mark.parametrize(
    ("after", "seconds"), [(0.001, 1), (1, 1), (1.001, 2), (59.5, 60), (0, 1), (-5, 1), (300, 300)]
)
def test_waiting_times_are_whole_seconds_rounded_up_and_at_least_one(after: float, seconds: int) -> None:
    assert seconds_until(START + timedelta(seconds=after), START) == seconds


def test_a_user_may_fail_30_times_from_an_address_in_a_quarter_of_an_hour_and_1000_times_a_day() -> None:
    near, day = failure_windows("alice", "203.0.113.7", 1, START)
    assert (near.limit, near.seconds) == (30, 900)
    assert (day.limit, day.seconds) == (1000, 86_400)
