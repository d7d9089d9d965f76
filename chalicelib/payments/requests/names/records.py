"""Stored record: what the names of one call resolved to."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record
from chalicelib.payments.requests.records import PayeeName

RETENTION = timedelta(days=2)
"""Longer than an idempotency key holds."""


@frozen
class Resolution:
    """What a name resolved to for the addresses of a network."""

    network: str
    address: str
    payee: PayeeName


@frozen
class ResolvedNames(Record):
    """What the names of one call resolved to. A call that is made again by its idempotency key, because the process
    ended, pays the same addresses, though a name may have moved."""

    KEY = KeyPattern(OPS, "NAMES#{call_id}", "NAMES")

    call_id: str
    resolved_at: datetime
    names: tuple[Resolution, ...]

    @property
    def vanishes_at(self) -> datetime:
        """Two days after they were resolved."""
        return self.resolved_at + RETENTION
