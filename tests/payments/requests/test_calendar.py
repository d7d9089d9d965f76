"""When periods are due, against a model that walks over days, and what the contract is told about it."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.payments.requests.calendar import MAX_PERIODS, at_period, due_at, period_seconds, start_of
from chalicelib.payments.requests.records import Frequency, Recurrence

from .calendar_model import first_dues, midnight

starts = st.datetimes(
    min_value=datetime(2024, 1, 1), max_value=datetime(2110, 12, 31), timezones=st.just(UTC)
).map(lambda at: at.replace(microsecond=0))
frequencies = st.sampled_from(list(Frequency))
MONTH_ENDS = [midnight(2028, 1, 31), midnight(2027, 12, 30), midnight(2028, 2, 29), midnight(2027, 2, 28)]


def dues(start: datetime, frequency: Frequency, total: int) -> list[datetime]:
    return [due_at(start, frequency, period) for period in range(1, total + 1)]


@given(starts, frequencies, st.integers(2, 40))
def test_periods_are_due_when_a_walk_over_the_days_finds_them(start: datetime, frequency: Frequency, total: int) -> None:
    assert dues(start, frequency, total) == first_dues(start, frequency.value, total)


@pytest.mark.parametrize("frequency", Frequency)
@pytest.mark.parametrize("start", MONTH_ENDS, ids=lambda start: start.date().isoformat())
def test_all_255_periods_are_those_of_the_model(start: datetime, frequency: Frequency) -> None:
    assert MAX_PERIODS == 2**8 - 1, "the largest number of one byte"
    assert dues(start, frequency, MAX_PERIODS) == first_dues(start, frequency.value, MAX_PERIODS)


@pytest.mark.parametrize("frequency", Frequency)
def test_every_day_of_two_years_begins_a_schedule_of_two_years(frequency: Frequency) -> None:
    """2027 and 2028, of which the second is a leap year."""
    total = {Frequency.DAILY: 30, Frequency.WEEKLY: 12, Frequency.MONTHLY: 24, Frequency.YEARLY: 3}[frequency]
    for day in range(731):
        start = midnight(2027, 1, 1) + timedelta(days=day, hours=23, minutes=59, seconds=59)
        assert dues(start, frequency, total) == first_dues(start, frequency.value, total)


@pytest.mark.parametrize(
    ("start", "frequency", "days"),
    [
        ("2027-01-31", "MONTHLY", ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"]),
        ("2028-01-31", "MONTHLY", ["2028-01-31", "2028-02-29", "2028-03-31"]),
        ("2027-01-30", "MONTHLY", ["2027-01-30", "2027-02-28", "2027-03-30"]),
        ("2027-11-15", "MONTHLY", ["2027-11-15", "2027-12-15", "2028-01-15"]),
        ("2028-02-29", "YEARLY", ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]),
        ("2096-02-29", "YEARLY", ["2096-02-29", "2097-02-28", "2098-02-28", "2099-02-28", "2100-02-28"]),
        ("2027-12-30", "WEEKLY", ["2027-12-30", "2028-01-06"]),
        ("2028-02-28", "DAILY", ["2028-02-28", "2028-02-29", "2028-03-01"]),
    ],
)
def test_short_months_and_leap_years(start: str, frequency: str, days: list[str]) -> None:
    found = dues(start_of(start), Frequency(frequency), len(days))
    assert [due.isoformat() for due in found] == [f"{day}T00:00:00+00:00" for day in days]


@given(starts, frequencies, st.integers(2, MAX_PERIODS))
def test_the_contract_allows_each_payment_when_it_is_due_and_no_longer_period_does(
    start: datetime, frequency: Frequency, total: int
) -> None:
    seconds = period_seconds(start, frequency, total)
    found = dues(start, frequency, total)
    first = int(start.timestamp())

    def allowed(seconds: int) -> bool:
        return all(due.timestamp() >= first + period * seconds for period, due in enumerate(found))

    assert allowed(seconds)
    assert not allowed(seconds + 1)
    assert all(later > earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    ("start", "frequency", "total", "days"),
    [
        ("2027-01-01", "DAILY", 255, 1),
        ("2027-01-01", "WEEKLY", 2, 7),
        ("2027-01-31", "MONTHLY", 12, 28),
        ("2027-03-01", "MONTHLY", 2, 31),
        ("2027-01-01", "YEARLY", 2, 365),
        ("2028-01-01", "YEARLY", 2, 366),
    ],
)
def test_the_period_that_the_contract_is_told(start: str, frequency: str, total: int, days: int) -> None:
    assert period_seconds(start_of(start), Frequency(frequency), total) == days * 86_400


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2027-03-01", "2027-03-01T00:00:00+00:00"),
        ("2027-03-01T10:20:30", "2027-03-01T10:20:30+00:00"),
        ("2027-03-01T10:20:30.999Z", "2027-03-01T10:20:30+00:00"),
        ("2027-03-01T00:30:00+02:00", "2027-02-28T22:30:00+00:00"),
    ],
)
def test_a_start_date_is_an_instant_in_utc(text: str, instant: str) -> None:
    assert start_of(text).isoformat() == instant


def test_the_time_zone_of_the_machine_changes_no_date(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        found = start_of("2027-03-01")
    time.tzset()
    assert found == midnight(2027, 3, 1)


def test_after_the_last_date_that_there_is_comes_none() -> None:
    last = Recurrence("9999-12-30", Frequency.DAILY, next_at=midnight(9999, 12, 31))
    after = at_period(last, 2)
    assert (after.period, after.next_at) == (2, None)


def test_what_is_no_date_or_no_schedule_is_refused() -> None:
    with pytest.raises(ValueError, match="isoformat"):
        start_of("tomorrow")
    with pytest.raises(ValueError, match="numbered from 1"):
        due_at(midnight(2027, 1, 1), Frequency.DAILY, 0)
    with pytest.raises(ValueError, match="at least 2"):
        period_seconds(midnight(2027, 1, 1), Frequency.DAILY, 1)
    for frequency in Frequency:
        with pytest.raises((ValueError, OverflowError)):
            due_at(midnight(9999, 12, 31), frequency, 2)
