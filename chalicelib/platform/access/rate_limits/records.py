"""Stored records: bans and call counters."""


from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record


@frozen
class Ban(Record):
    """A caller whose calls are refused until `until`. `caller` is a digest of credential and address."""

    KEY = KeyPattern(OPS, "RATE#block#{caller}", "RATE")

    caller: str
    until: datetime
    version: int = 0

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
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """A minute after its window ends."""
        return self.ends_at + timedelta(minutes=1)
