"""Bans and call counters, as they are stored."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.base.records import OPS, KeyPattern, Record


@dataclass(frozen=True)
class Ban(Record):
    """A caller who is refused until then; `caller` is a digest of credential and address."""

    KEY = KeyPattern(OPS, "RATE#block#{caller}", "RATE")

    caller: str
    until: datetime
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """When it ends."""
        return self.until


@dataclass(frozen=True)
class CallCounter(Record):
    """How many calls a window has taken, in the attribute `calls`, which DynamoDB counts; it has no version."""

    KEY = KeyPattern(OPS, "RATE#{window}", "RATE")

    window: str
    ends_at: datetime
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """A minute after its window."""
        return self.ends_at + timedelta(minutes=1)
