"""Stored records: quotes."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.rates.records import Rate

RETENTION = timedelta(days=30)
"""How long a quote is kept after it has ended. A payment that is found later is valued by the rate of its time."""


@frozen
class Quote(Record):
    """A rate that is held for the payers of one request from `at` to `ends_at`.

    A payment in a block of that time is valued by it, however the rate has moved.
    """

    KEY = KeyPattern(PAYMENTS, "QUOTES#{request_id}", "QUOTE#{number:06}")

    request_id: str
    number: int
    """Counts the quotes of the request from 0; two processes cannot both write the next one."""
    rate: Rate
    at: datetime
    ends_at: datetime
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it has ended."""
        return self.ends_at + RETENTION
