"""Stored records: mails, which are the outbox of e-mail, and mailboxes, what is known of an address."""

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.records import MAILS, KeyPattern, Record

MAIL_RETENTION = timedelta(days=30)


class MailKind(StrEnum):
    """What a mail is about; mail/locales has the texts of each but the last, which is never sent."""

    CONFIRM = "confirm"
    """The link by which an e-mail address is confirmed."""
    REGISTERED = "registered"
    """To somebody who has an account and registers again."""
    RESET = "reset"
    """The link by which a new password is set."""
    INVITATION = "invitation"
    """The link by which somebody becomes a member of an account."""
    CHANGES = "changes"
    """What was changed in an account, from its audit log."""
    PAYMENT = "payment"
    ATTENTION = "attention"
    """Of an event that a merchant has to look at."""
    NOTHING = "nothing"
    """Written where nothing is sent, so that the same happens for unknown addresses as for known ones."""


class MailState(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    """SES refuses it for good, or its time was over before SES took it."""
    DROPPED = "dropped"
    """There was nothing to send, or the address takes no mail."""
    BOUNCED = "bounced"
    COMPLAINED = "complained"


@frozen
class Mail(Record):
    """One message to one address, `recipient`, in the language `locale`.

    `facts` are the values of its text, as JSON; `sealed` are those that are secrets (links), encrypted by KMS for
    `owner_of(mail_id)`, and forgotten when the mail is over. After `expires_at` it is not sent any more. `mail_id` goes
    into the header X-Service-Mail and comes back with news of the message; `message_id` is SES's own, and `sent_at`
    when SES took it. A worker that sends it has it until `leased_until`.
    """

    KEY = KeyPattern(MAILS, "MAIL#{mail_id}", "MAIL")
    UNREPEATABLE = frozenset({"sealed"})

    mail_id: str
    kind: MailKind
    account_id: str
    recipient: str
    locale: str
    facts: str
    created_at: datetime
    due_at: datetime
    expires_at: datetime
    sealed: str | None = None
    state: MailState = MailState.PENDING
    attempt: int = 0
    leased_until: datetime | None = None
    message_id: str | None = None
    error: str | None = None
    sent_at: datetime | None = None

    @property
    def next_due(self) -> datetime | None:
        """While it is pending: when its next attempt is due, which is no earlier than its lease ends."""
        return self.due_at if self.state is MailState.PENDING else None

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created, and no earlier than it expires."""
        return max(self.created_at + MAIL_RETENTION, self.expires_at)


def mailbox_hash(name: str) -> str:
    """The hash under which what is known of an address is stored, by the `name` of the address."""
    return hashlib.sha256(name.encode()).hexdigest()


@frozen
class Mailbox(Record):
    """What is known of an e-mail address, which it does not hold: the language of its mails, and since when and why
    (`bounce`, `complaint`) nothing is sent to it."""

    KEY = KeyPattern(MAILS, "MAILBOX#{name_hash}", "MAILBOX")

    name_hash: str
    locale: str = "en"
    stopped_at: datetime | None = None
    stopped_by: str | None = None


@frozen
class Choices(Record):
    """Which e-mails about events an account wants; none, unless it says so."""

    KEY = KeyPattern(MAILS, "ACCOUNT#{account_id}", "CHOICES")

    account_id: str
    payments: bool = False
    attention: bool = False

    def wants(self, kind: MailKind) -> bool:
        return {MailKind.PAYMENT: self.payments, MailKind.ATTENTION: self.attention}.get(kind, False)
