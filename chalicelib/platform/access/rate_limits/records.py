"""Stored records: bans and call counters."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record


@frozen
class Ban(Record):
    """A caller whose calls are refused until `until`. `caller` is a digest of credential and address.

    It may be missed in its first second, in which the limits of the windows still hold.
    """

    KEY = KeyPattern(OPS, "RATE#block#{caller}", "RATE")
    MAY_LAG = True

    caller: str
    until: datetime

    @property
    def vanishes_at(self) -> datetime:
        """When it ends."""
        return self.until


@frozen
class CallCounter(Record):
    """The number of calls in a window: the attribute `calls`, which DynamoDB increments. It has no version."""

    KEY = KeyPattern(OPS, "RATE#{window}", "RATE")

    window: str
    ends_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """A minute after its window ends."""
        return self.ends_at + timedelta(minutes=1)
