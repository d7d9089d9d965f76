"""Stored records: an audit log entry, and the actor it names."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, KeyPattern, Record

AUDIT_RETENTION = timedelta(days=400)
QUIET = frozenset({"branding", "offramp", "payer", "payments", "payout", "request", "secure_payment", "session"})
"""The resources whose changes the owners of an account are not told of: neither a credential, nor where money goes, nor
who is a member. Whatever is new is told."""
QUIET_ACTIONS = frozenset({"account.created", "email.language_chosen"})


def concerns_owners(action: str) -> bool:
    """Whether the owners of an account are told of an action by e-mail."""
    return action.partition(".")[0] not in QUIET and action not in QUIET_ACTIONS


@frozen
class AuditEntry(Record):
    """An audit log entry of an account. `actor` is the public id of a person or credential, `target` what it changed.

    `session_id` is the public id of the person's session. An entry holds no secret. Entry ids sort by time, to the
    microsecond. `is_notified` is whether the owners were told of it by e-mail, or nobody could be; until then it is the
    outbox of that mail, so that no change can be made without one. `notified_at` is when it was written, and `mail_ids`
    are the mails; None if nobody has an address. `operation` is that of a change that waits (accounts/changes).
    `mailed_to` are addresses that are told too, until they are: those of a person from before a change of how they
    sign in, as a thief could take them away.
    """

    KEY = KeyPattern(IDENTITY, "AUDIT#{account_id}", "{entry_id}")
    DUE_GROUP = "CHANGE"
    UNREPEATABLE = frozenset({"ip_address", "request_id"})

    account_id: str
    entry_id: str
    at: datetime
    actor: str
    action: str
    target: str
    ip_address: str
    request_id: str
    session_id: str | None = None
    is_notified: bool = False
    notified_at: datetime | None = None
    mail_ids: tuple[str, ...] | None = None
    operation: str | None = None
    mailed_to: tuple[str, ...] | None = None

    @property
    def next_due(self) -> datetime | None:
        """When the owners are to be told of it: at once."""
        return self.at if concerns_owners(self.action) and not self.is_notified else None

    @property
    def vanishes_at(self) -> datetime:
        """AUDIT_RETENTION (400 days) after it was written."""
        return self.at + AUDIT_RETENTION


@frozen
class Actor:
    """Who acts, from which address, in which request and session; part of every audit entry."""

    account_id: str
    name: str
    ip_address: str
    request_id: str
    session_id: str | None = None
