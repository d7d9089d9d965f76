"""Stored record: a change that waits for approval."""

from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import COMPRESSED, IDENTITY, KeyPattern, Record
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.sessions.records import SessionKind

CHANGE_RETENTION = timedelta(days=400)


class ChangeState(StrEnum):
    PENDING = "pending"
    APPLIED = "applied"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    FAILED = "failed"


@frozen
class AskingSession:
    """What the change needs of the session that asked for it; that session may end before."""

    session_id: str
    member_since: datetime
    kind: SessionKind
    subject: str
    has_second_factor: bool
    chain_id: int | None = None


@frozen
class Asker:
    """Who asked: by `mode` a person in a session, an API key or a client id; `name` is that of audit entries."""

    mode: Mode
    name: str
    ip_address: str
    request_id: str
    person_id: str | None = None
    session: AskingSession | None = None
    key_id: str | None = None
    client_hash: str | None = None


@frozen
class PendingChange(Record):
    """A request that changes where money goes, as it was sent, until it is decided.

    It is checked when it is asked for, and made by the same view when it takes effect. `path` and `query` are JSON, and
    so is `effects`, what it does to each record (effects.py): when it takes effect it has to do the same. `scope` is
    what somebody needs who approves it. `approved_by` are people. Without `takes_effect_at` it needs approval, and
    expires. One whose delay is not over then is looked at again at `deferred_to`. `sealed` is the nonce of the secrets
    that the first response showed, encrypted, until it is decided. `notice_id` is the audit entry by which the owners
    are notified.
    """

    KEY = KeyPattern(IDENTITY, "CHANGES#{account_id}", "{change_id:.64}")
    DUE_GROUP = "WAITING"
    UNREPEATABLE = frozenset({"sealed", "asker"})

    account_id: str
    change_id: str
    operation: str
    path: str
    query: str
    body: str = field(metadata=COMPRESSED)
    effects: str = field(metadata=COMPRESSED)
    scope: str | None
    asker: Asker
    asked_at: datetime
    expires_at: datetime
    notice_id: str
    takes_effect_at: datetime | None = None
    deferred_to: datetime | None = None
    state: ChangeState = ChangeState.PENDING
    approved_by: tuple[str, ...] = ()
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    sealed: str | None = None

    @property
    def next_due(self) -> datetime | None:
        """While it is pending: when it takes effect or expires, or is looked at again."""
        due = self.deferred_to or self.takes_effect_at or self.expires_at
        return due if self.state is ChangeState.PENDING else None

    @property
    def vanishes_at(self) -> datetime:
        """CHANGE_RETENTION (400 days) after it was asked for."""
        return self.asked_at + CHANGE_RETENTION


@frozen
class OpenChanges(Record):
    """The changes of one asker that were open when the last of them was asked for.

    It is written with every change, so that of two at once, which count the same ones, one fails. Those that were
    decided meanwhile are among them, so no decision has to wait for it.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "OPEN_CHANGES#{asker}")

    account_id: str
    asker: str
    change_ids: tuple[str, ...] = ()
