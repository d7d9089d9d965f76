"""An audit entry, as it is stored, and who acted."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class AuditEntry:
    """One line: `actor` is a credential's or session's public id, `target` what was acted upon; never a secret."""

    account_id: str
    entry_id: str
    at: datetime
    actor: str
    action: str
    target: str
    ip_address: str
    request_id: str
    version: int = 0


@dataclass(frozen=True)
class Actor:
    """Who acts, from where, in which request: what every audit line begins with."""

    account_id: str
    name: str
    ip_address: str
    request_id: str
