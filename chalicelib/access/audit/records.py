"""An audit log entry, as it is stored, and who acted."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.base.records import IDENTITY, KeyPattern, Record

AUDIT_RETENTION = timedelta(days=400)


@dataclass(frozen=True)
class AuditEntry(Record):
    """One line of an account's audit log: `actor` is a credential's or session's public id, `target` what it acted on.

    It never holds a secret. Entry ids sort by time.
    """

    KEY = KeyPattern(IDENTITY, "AUDIT#{account_id}", "{entry_id}")

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
        """400 days after it was written."""
        return self.at + AUDIT_RETENTION


@dataclass(frozen=True)
class Actor:
    """Who acts, from where, in which request: what every audit line begins with."""

    account_id: str
    name: str
    ip_address: str
    request_id: str
