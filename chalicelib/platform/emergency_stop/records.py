"""The stored record of the emergency stop."""

from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import OPS, KeyPattern, Record


@frozen
class Stop(Record):
    """The operator's stop of payments, as long as it exists: see flows.py."""

    KEY = KeyPattern(OPS, "STOP", "STOP")

    since: datetime
    reason: str
