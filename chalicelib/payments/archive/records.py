"""The stored record of how far the table has been read for what is to be archived."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, PAYMENTS, Key, KeyPattern, Record

REST = timedelta(days=14)
"""From the beginning of one pass to that of the next. A pass reads the whole table, which costs about as much as that
what is due stays so long (tests/bench/growth.py)."""


@frozen
class ArchivePass(Record):
    """One pass over the table `payments`. It goes on after the item `after_pk`, `after_sk`; both are None at its
    beginning."""

    KEY = KeyPattern(OPS, "ARCHIVE", "PASS")

    began_at: datetime
    after_pk: str | None = None
    after_sk: str | None = None
    ended_at: datetime | None = None

    @property
    def after(self) -> Key | None:
        """The last item that was read."""
        return Key(PAYMENTS, self.after_pk, self.after_sk) if self.after_pk and self.after_sk else None

    def continue_at(self, after: Key | None, now: datetime) -> "ArchivePass":
        """The pass when the table has been read up to an item, or, with None, to its end."""
        place = (after.pk, after.sk) if after is not None else (None, None)
        return replace(self, after_pk=place[0], after_sk=place[1], ended_at=None if after is not None else now)

    def is_resting(self, now: datetime) -> bool:
        """Whether this pass over the index has ended, and the next one need not begin."""
        return self.ended_at is not None and now < self.began_at + REST
