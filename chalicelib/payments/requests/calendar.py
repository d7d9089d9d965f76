"""When the periods of a schedule are due. Every rule is in UTC, which has no daylight saving time.

    DAILY    the same time on every day
    WEEKLY   the same time on every seventh day
    MONTHLY  the same day of every month; its last day, where the month is too short for that day
    YEARLY   the same day of every year; 28 February for 29 February, where the year has none

Each period is counted from the start and not from the period before it: after 31 January and 28 February comes 31
March. Periods are numbered from 1, which is due at the start.
"""

from calendar import monthrange
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chalicelib.payments.requests.records import Frequency, Recurrence

MAX_PERIODS = 255
"""The payments of a schedule are numbered by a uint8 from 1 in the contract."""

_DAYS = {Frequency.DAILY: 1, Frequency.WEEKLY: 7}
_MONTHS = {Frequency.MONTHLY: 1, Frequency.YEARLY: 12}


def start_of(text: str) -> datetime:
    """The instant of a start date in ISO 8601: the begin of a plain date; a time without an offset is in UTC.

    Fractions of a second are dropped, because contracts count whole seconds. Raises ValueError or OverflowError.
    """
    found = datetime.fromisoformat(text)
    start = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    return start.replace(microsecond=0)


def due_at(start: datetime, frequency: Frequency, period: int) -> datetime:
    """When a period of a schedule that starts at `start` (UTC) is due. Raises ValueError or OverflowError after the
    year 9999, ValueError for a period below 1."""
    if period < 1:
        raise ValueError("periods are numbered from 1")
    if frequency in _DAYS:
        return start + timedelta(days=_DAYS[frequency] * (period - 1))
    year, month = divmod(start.year * 12 + start.month - 1 + _MONTHS[frequency] * (period - 1), 12)
    day = min(start.day, monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


def period_seconds(start: datetime, frequency: Frequency, total: int) -> int:
    """The largest period in seconds with which the contract allows each of `total` payments when it is due here.

    The contract knows no months: payment k is allowed from the first + (k - 1) periods. So this is the shortest mean
    distance between the first and a later payment: 28 days for the months after 31 January. Raises ValueError for fewer
    than 2 payments, and the errors of `due_at`.
    """
    if total < 2:
        raise ValueError("a schedule has at least 2 payments")
    passed = ((due_at(start, frequency, period) - start, period - 1) for period in range(2, total + 1))
    return min(int(time.total_seconds()) // periods for time, periods in passed)


def start_recurrence(recurrence: Recurrence, now: datetime) -> Recurrence:
    """The recurrence with its first date after `now` as the next one. The first date of all has its request."""
    after = at_period(recurrence, recurrence.period)
    while after.next_at is not None and after.next_at <= now:
        after = at_period(recurrence, after.period + 1)
    return after


def at_period(recurrence: Recurrence, period: int) -> Recurrence:
    """The recurrence after a period; there is no date after the year 9999."""
    try:
        following = due_at(start_of(recurrence.start_date), recurrence.frequency, period + 1)
    except (ValueError, OverflowError):
        return replace(recurrence, period=period, next_at=None)
    return replace(recurrence, period=period, next_at=following)
