"""The life of a mail: when it is sent, when it is tried again, when it ends; and what SES says of it afterwards.

    pending     due or claimed by a worker (a lease)     -> sent, failed, dropped, pending (the next attempt)
    sent        SES has taken it                         -> bounced, complained
    failed, dropped, bounced, complained: over
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base.email_addresses import EmailAddress
from chalicelib.base.frozen import frozen
from chalicelib.mail.records import Mail, Mailbox, MailKind, MailState

LEASE = timedelta(seconds=60)
"""How long a worker has a mail: longer than a request to SES can take plus the writes around it."""
RETRY_DELAYS = (10, 60, 300, 900, 3600)
"""Seconds before the 2nd, 3rd, ... attempt; the last one holds for all further ones, until the mail expires."""
LIFETIMES = {
    MailKind.CONFIRM: timedelta(hours=24),
    MailKind.REGISTERED: timedelta(hours=24),
    MailKind.RESET: timedelta(minutes=30),
    MailKind.INVITATION: timedelta(days=7),
    MailKind.CHANGES: timedelta(days=3),
    MailKind.PAYMENT: timedelta(days=3),
    MailKind.ATTENTION: timedelta(days=3),
    MailKind.NOTHING: timedelta(hours=1),
}
"""How long a mail is worth sending, and its link works."""


@frozen
class Draft:
    """What a mail says: `facts` in its text, and `secrets`, which are stored encrypted. `account_id` is empty if it is
    about none."""

    kind: MailKind
    to: EmailAddress
    facts: Mapping[str, str]
    secrets: Mapping[str, str] | None = None
    account_id: str = ""


def owner_of(mail_id: str) -> str:
    """The owner that KMS encrypts the secrets of a mail for. The policies of the functions name this prefix."""
    return f"mail#{mail_id}"


def new_mail(draft: Draft, mail_id: str, locale: str, sealed: str | None, now: datetime) -> Mail:
    """The mail of a draft, due now."""
    lifetime = LIFETIMES[draft.kind]
    facts = json.dumps(dict(draft.facts), ensure_ascii=False, separators=(",", ":"))
    to = "" if draft.kind is MailKind.NOTHING else draft.to.written
    return Mail(mail_id, draft.kind, draft.account_id, to, locale, facts, now, now, now + lifetime, sealed)


def mail_id_of(event_id: str, recipient: str) -> str:
    """The id of the mail of an event to an address, 32 hex digits: the same however often it is made."""
    return hashlib.sha256(f"{event_id}/{recipient}".encode()).hexdigest()[:32]


def withheld(draft: Draft) -> Draft:
    """A draft of the same size of which nothing is sent, and which names nobody."""
    return replace(draft, kind=MailKind.NOTHING, account_id="")


def may_send(mail: Mail, now: datetime) -> bool:
    """Whether a mail is pending and no worker has it."""
    return mail.state is MailState.PENDING and (mail.leased_until is None or now >= mail.leased_until)


def claim(mail: Mail, mailbox: Mailbox | None, now: datetime) -> Mail:
    """The mail as a worker has it, or as it ends without being sent."""
    if mail.kind is MailKind.NOTHING:
        return _over(mail, MailState.DROPPED)
    if mailbox is not None and mailbox.stopped_at is not None:
        return _over(mail, MailState.DROPPED, f"the address is stopped: {mailbox.stopped_by}")
    if now >= mail.expires_at:
        return _over(mail, MailState.FAILED, mail.error or "it was not sent in its time")
    return replace(mail, due_at=now + LEASE, leased_until=now + LEASE)


def mark_sent(mail: Mail, message_id: str, now: datetime) -> Mail:
    return replace(_over(mail, MailState.SENT), message_id=message_id, sent_at=now)


def decide_refused(mail: Mail, code: str, again: bool, now: datetime) -> tuple[Mail, int]:
    """The mail after an attempt that SES answered with the error `code`, and after how many seconds the next one is; 0
    if it is over, for want of time or because it is not tried `again`."""
    delay = RETRY_DELAYS[min(mail.attempt, len(RETRY_DELAYS) - 1)]
    due_at = now + timedelta(seconds=delay)
    if not again or due_at >= mail.expires_at:
        return _over(mail, MailState.FAILED, code), 0
    return replace(mail, attempt=mail.attempt + 1, due_at=due_at, leased_until=None, error=code), delay


def _over(mail: Mail, state: MailState, error: str | None = None) -> Mail:
    return replace(mail, state=state, leased_until=None, sealed=None, error=error)


@frozen
class Feedback:
    """News of a message that was sent. `stops` is `bounce` or `complaint` if its addresses get no mail any more.

    `mail_id` is None if the news does not carry it; `addresses` are those that it is about.
    """

    mail_id: str | None
    stops: str | None
    addresses: tuple[str, ...]


_ADDRESSES = {"bounce": "bouncedRecipients", "complaint": "complainedRecipients"}
ID_TAG = "service-mail"
"""The tag of a message with the id of its mail (platform/outbound/ses.py)."""


def feedback_of(body: str) -> Feedback:
    """The news in a message of SES, in either of its shapes. Raises ValueError for anything else.

    An event of a configuration set has `eventType` and `mail.tags`, a notification of an identity `notificationType`
    and neither tags nor, unless asked for, headers. Only a bounce that is permanent stops an address: a full mailbox
    does not.
    """
    said = json.loads(body)
    kind = str(said.get("eventType") or said.get("notificationType") or "").lower() if isinstance(said, dict) else ""
    mail = said.get("mail") if kind else None
    if not isinstance(mail, dict):
        raise ValueError("not a notification of SES")
    about = said.get(kind)
    about = about if isinstance(about, dict) else {}
    stops = kind in _ADDRESSES and (kind == "complaint" or about.get("bounceType") == "Permanent")
    tags = mail.get("tags")
    mail_id = _first_text(tags.get(ID_TAG)) if isinstance(tags, dict) else None
    return Feedback(mail_id, kind if stops else None, _addresses(about.get(_ADDRESSES.get(kind, ""))))


def _first_text(values: Any) -> str | None:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else None


def _addresses(recipients: Any) -> tuple[str, ...]:
    found = recipients if isinstance(recipients, list) else []
    named = (each.get("emailAddress") for each in found if isinstance(each, dict))
    return tuple(each for each in named if isinstance(each, str))


def note_stop(mail: Mail, stopped_by: str) -> Mail:
    """The mail after news that stopped its address."""
    return replace(mail, state=MailState.COMPLAINED if stopped_by == "complaint" else MailState.BOUNCED)


def stop_mailbox(mailbox: Mailbox, stopped_by: str, now: datetime) -> Mailbox:
    """The mailbox that gets no mail any more; the first reason stays, unless a complaint follows a bounce."""
    if mailbox.stopped_by == "complaint" or mailbox.stopped_by == stopped_by:
        return mailbox
    return replace(mailbox, stopped_at=mailbox.stopped_at or now, stopped_by=stopped_by)


def lift_stop(mailbox: Mailbox) -> Mailbox:
    """The mailbox that gets mail again."""
    return replace(mailbox, stopped_at=None, stopped_by=None)
