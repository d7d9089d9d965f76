"""A second calendar of schedules, which counts days one by one instead of computing with months.

It is slow and plain: a walk over the days since the start that notes on which of them a payment is due.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import count, islice

ONE_DAY = timedelta(days=1)


def dues(start: datetime, frequency: str) -> Iterator[datetime]:
    """The due times of a schedule that starts at `start`, in order, without end."""
    at = start.timetz()
    for number, day in enumerate(days_from(start.date())):
        if is_due(day, number, start.date(), frequency):
            yield datetime.combine(day, at)


def first_dues(start: datetime, frequency: str, total: int) -> list[datetime]:
    """The due times of the first `total` periods."""
    return list(islice(dues(start, frequency), total))


def dues_until(start: datetime, frequency: str, end: datetime) -> list[datetime]:
    """The due times up to and including an instant."""
    found = []
    for due in dues(start, frequency):
        if due > end:
            break
        found.append(due)
    return found


def is_due(day: date, number: int, first: date, frequency: str) -> bool:
    """Whether a payment is due on a day, which is `number` days after the first."""
    if frequency == "DAILY":
        return True
    if frequency == "WEEKLY":
        return number % 7 == 0
    is_month = frequency == "MONTHLY" or day.month == first.month
    return is_month and (day.day == first.day or (day.day < first.day and (day + ONE_DAY).day == 1))


def days_from(first: date) -> Iterator[date]:
    return (first + n * ONE_DAY for n in count())


def midnight(year: int, month: int, day: int) -> datetime:
    return datetime.combine(date(year, month, day), time(), UTC)
