"""Stored records: answers of the router, and its circuit breaker, which all containers share."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record

CIRCUIT_RETENTION = timedelta(days=1)
ROUTER = "lifi"


@frozen
class KeptAnswer(Record):
    """What the router answered to a question, as JSON text. It is verified again whenever it is read.

    `question` is a hash of everything that was asked for.
    """

    KEY = KeyPattern(OPS, "ROUTE#{question}", "ROUTE")

    question: str
    answer: str
    fetched_at: datetime
    expires_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at


@frozen
class RouterCircuit(Record):
    """Whether the router answers. Nobody asks it before `open_until`; then one does, who moves that by a lease.

    `failures` counts requests without a usable answer since the last one with such an answer, `openings` how often in a
    row the circuit was opened. A router without this record is closed and has not failed.
    """

    KEY = KeyPattern(OPS, "ROUTER#{router}", "ROUTER")

    failures: int
    openings: int
    open_until: datetime | None
    updated_at: datetime
    router: str = ROUTER

    @property
    def vanishes_at(self) -> datetime:
        """A day after it last changed."""
        return self.updated_at + CIRCUIT_RETENTION
