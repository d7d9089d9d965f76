"""Stored records: an audit log entry, and the actor it names."""


from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, KeyPattern, Record

AUDIT_RETENTION = timedelta(days=400)


@frozen
class AuditEntry(Record):
    """An audit log entry of an account. `actor` is the public id of a credential or session, `target` what it changed.

    It holds no secret. Entry ids sort by time.
    """

    KEY = KeyPattern(IDENTITY, "AUDIT#{account_id}", "{entry_id}")
    UNREPEATABLE = frozenset({"ip_address", "request_id"})

    account_id: str
    entry_id: str
    at: datetime
    actor: str
    action: str
    target: str
    ip_address: str
    request_id: str
    version: int = 0

    @property
    def vanishes_at(self) -> datetime:
        """AUDIT_RETENTION (400 days) after it was written."""
        return self.at + AUDIT_RETENTION


@frozen
class Actor:
    """Who acts, from which address, in which request; part of every audit entry."""

    account_id: str
    name: str
    ip_address: str
    request_id: str
