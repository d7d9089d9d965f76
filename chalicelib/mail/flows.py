"""Writes mails into the transactions of others, sends them, and notes what SES says of them afterwards.

    written()  ──transaction of the caller──  MAIL (pending)  ──hint──  send()  ──SES──  sent
                                                   └──── by_due ──── sweep() ───┘
    SES ── SNS ── SQS ── note() ── MAILBOX stopped, MAIL bounced

Without a sender (MAIL_SENDER) nothing is written and nothing is sent.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.email_addresses import EmailAddress
from chalicelib.base.frozen import frozen
from chalicelib.mail import rules, store
from chalicelib.mail.records import Mail, MailState
from chalicelib.mail.rules import Draft
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import Window, account_mail_window, address_mail_window
from chalicelib.platform.metrics import MAILS
from chalicelib.platform.outbound.ses import Message, NotSent
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.queue import Message as QueueMessage
from chalicelib.platform.storage.queue import send_hints
from chalicelib.platform.storage.retrying import retry_conflicts, try_write
from chalicelib.platform.storage.store import with_next_version as as_written

GRACE = timedelta(seconds=30)
"""Younger mails may still be in progress in the process that wrote them."""
BUDGET = timedelta(seconds=40)
"""The sweep begins no mail later than this; its function has 60 s, and the next one runs a minute after it."""
_BATCH = 100
_LONGEST_DELAY = 900  # of a message of SQS, in seconds
NOBODY = "nobody"
"""The group of messages about mails of no account."""


@frozen
class Limit:
    """How many mails of a sort an address gets in an hour, and an account causes in a day; None is no limit of the
    sort."""

    of_address: int | None = None
    of_account: int | None = None


ASKED_FOR = Limit(of_address=5)
"""What anybody may ask for who knows an address: links to confirm it, or to set a password."""


def is_configured(services: Services) -> bool:
    """Whether this deployment sends e-mail."""
    return bool(services.settings.mail_sender)


def link_to(services: Services, page: str, token: str) -> str:
    """The URL of a link in a mail: a view of the dashboard, unless MAIL_LINK_URL says another place.

    The token is behind the #, which browsers send to no server, proxy or log.
    """
    settings = services.settings
    return f"{settings.mail_link_url or f'{settings.auth_url}/dashboard'}/{page}#{token}"


def write_mail(
    services: Services, draft: Draft, limit: Limit, *, is_withheld: bool = False, language: str | None = None
) -> tuple[Mail, ...]:
    """The mail of a draft, for the caller's transaction, after which `queue_mails` is called; none without a sender.

    It is in the language of the address; in `language` if nothing is known of that. One read, one count for each part
    of the limit, and one KMS call if it has secrets. Above a limit, for an address that is stopped, and with
    `is_withheld` it is one that says nothing to nobody, after the same work: whoever asked cannot tell.
    """
    if not is_configured(services):
        return ()
    mailbox = store.mailbox(services.store, draft.to)
    is_free = _count_mail(services, draft, limit)
    if is_withheld or not is_free or mailbox.stopped_at is not None:
        draft = rules.withheld(draft)
    now = services.clock()
    mail_id = ids.ulid(now, services.entropy)
    sealed = None
    if draft.secrets:
        sealed = services.secrets.encrypt(json.dumps(dict(draft.secrets)), rules.owner_of(mail_id))
    locale = mailbox.locale if mailbox.version else language or mailbox.locale
    return (rules.new_mail(draft, mail_id, locale, sealed, now),)


def write_of_event(services: Services, event_id: str, draft: Draft, limit: Limit) -> None:
    """Writes and queues the mail of an event to an address, unless it was written before. One read and a count, one
    write.

    Above the limit none is written.
    """
    mailbox = store.mailbox(services.store, draft.to)
    if mailbox.stopped_at is not None or not _count_mail(services, draft, limit):
        return
    now = services.clock()
    mail = rules.new_mail(draft, rules.mail_id_of(event_id, draft.to.name), mailbox.locale, None, now)
    if try_write(services.store, mail):
        queue_mails(services, [mail])


def _count_mail(services: Services, draft: Draft, limit: Limit) -> bool:
    """Whether the limit has room for a mail, which is then counted."""
    now, scale = services.clock(), services.settings.rate_limit_scale
    windows = list[Window]()
    if limit.of_address is not None:
        windows.append(address_mail_window(draft.to.name, draft.kind, limit.of_address * scale, now))
    if limit.of_account is not None:
        windows.append(account_mail_window(draft.account_id, draft.kind, limit.of_account * scale, now))
    for number, window in enumerate(windows):
        if rate_limits.count(services, window) is None:
            rate_limits.uncount(services, *windows[:number])
            services.log.warning("mail not sent: limit", extra={"kind": draft.kind, "account_id": draft.account_id})
            return False
    return True


def queue_mails(services: Services, mails: Iterable[Mail]) -> None:
    """Tells the worker of stored mails. Never raises: the sweep finds what it was not told."""
    _queue(services, [(each, 0) for each in mails])


def send_mail(services: Services, body: str) -> None:
    """Sends the mail that a message of the queue names."""
    send(services, json.loads(body)["mailId"])


def send(services: Services, mail_id: str) -> None:
    """Makes one attempt to send a mail, unless it is over or another worker has it.

    A process that dies between SES's answer and the record of it has the message sent again, with the same id in
    X-Service-Mail.
    """
    mail = store.mail(services.store, mail_id)
    if mail is None or not rules.may_send(mail, services.clock()):
        return
    to = EmailAddress(mail.recipient)
    claimed = rules.claim(mail, store.mailbox(services.store, to), services.clock())
    if not try_write(services.store, claimed):
        return  # another worker has it
    if claimed.state is MailState.PENDING:
        _attempt(services, as_written(claimed))
    else:
        _note_end(services, claimed)


def _attempt(services: Services, mail: Mail) -> None:
    delay = 0
    try:
        settled = rules.mark_sent(mail, services.ses.send(_message(services, mail)), services.clock())
    except NotSent as error:
        settled, delay = rules.decide_refused(mail, error.code, error.later, services.clock())
        if error.needs_repair:
            services.log.error("mail needs the operator", extra={"mail_id": mail.mail_id, "error": error.code})
    if not try_write(services.store, settled):
        return  # the lease ended meanwhile and another worker took over
    _note_end(services, settled)
    if 0 < delay <= _LONGEST_DELAY:
        _queue(services, [(settled, delay)])


def _message(services: Services, mail: Mail) -> Message:
    from chalicelib.mail.templates import render_message

    facts: dict[str, str] = json.loads(mail.facts)
    if mail.sealed:
        facts |= json.loads(services.secrets.decrypt(mail.sealed, rules.owner_of(mail.mail_id)))
    known = {"brand": services.settings.brand, "until": f"{mail.expires_at:%Y-%m-%d %H:%M} UTC"}
    text = render_message(mail.kind, mail.locale, facts | known)
    return Message(mail.mail_id, mail.recipient, text.subject, text.text, text.html)


def first_sent(services: Services, mail_ids: Iterable[str], to: Iterable[EmailAddress]) -> datetime | None:
    """When SES took the first of some mails to one of these addresses that did not come back; None if it took none.

    One read for a hundred.
    """
    names = {each.name for each in to}
    mails = (each for each in store.mails(services.store, mail_ids) if EmailAddress(each.recipient).name in names)
    return min((each.sent_at for each in mails if each.sent_at and each.state is MailState.SENT), default=None)


def _note_end(services: Services, mail: Mail) -> None:
    """Counts an attempt by what its mail is now, and logs it; the log has no address."""
    services.metrics.add(MAILS, mail.state.value)
    facts = {"mail_id": mail.mail_id, "kind": mail.kind, "attempt": mail.attempt, "state": mail.state}
    log = services.log.error if mail.state is MailState.FAILED else services.log.info
    log("mail failed" if mail.state is MailState.FAILED else "mail", extra={**facts, "error": mail.error})


def sweep(services: Services) -> int:
    """Queues mails that are due and whose message was not sent, or not finished; returns how many. Safe to repeat."""
    if not is_configured(services):
        return 0
    now = services.clock()
    found = list(store.due(services.store, now - GRACE, _BATCH, services.entropy(1)[0]))
    in_time = sweeping.in_time(services.log, services.clock, now + BUDGET, found)

    def queue(mail_id: str) -> bool:
        mail = store.mail(services.store, mail_id)
        if mail is None or not rules.may_send(mail, services.clock()):
            return False
        queue_mails(services, [mail])
        return True

    return sweeping.each(services.log, in_time, queue)


def note(services: Services, body: str) -> None:
    """Notes news of SES: an address that bounces for good, or whose owner complains, gets no mail any more.

    Raises ValueError if it is no news of SES.
    """
    feedback = rules.feedback_of(body)
    if feedback.stops is None:
        return
    mail = store.mail(services.store, feedback.mail_id) if feedback.mail_id else None
    addresses = {mail.recipient} if mail else set(feedback.addresses)
    for address in addresses:
        _stop(services, EmailAddress(address), feedback.stops)
    if mail is not None:
        _note_mail(services, mail.mail_id, feedback.stops)
    services.log.warning("mail address stopped", extra={"mail_id": feedback.mail_id, "by": feedback.stops})


@retry_conflicts(5)
def _stop(services: Services, address: EmailAddress, stopped_by: str) -> None:
    known = store.mailbox(services.store, address)
    changed = rules.stop_mailbox(known, stopped_by, services.clock())
    if changed is not known:
        services.store.write(changed)


@retry_conflicts(5)
def _note_mail(services: Services, mail_id: str, stopped_by: str) -> None:
    mail = store.mail(services.store, mail_id)
    if mail is not None:
        services.store.write(rules.note_stop(mail, stopped_by))


@retry_conflicts(5)
def lift(services: Services, address: EmailAddress) -> bool:
    """Has an address written to again; returns False if it was not stopped."""
    mailbox = store.mailbox(services.store, address)
    if mailbox.stopped_at is None:
        return False
    services.store.write(rules.lift_stop(mailbox))
    return True


def _queue(services: Services, mails: Iterable[tuple[Mail, int]]) -> None:
    messages = [
        QueueMessage({"mailId": mail.mail_id}, group=mail.account_id or NOBODY, delay=delay) for mail, delay in mails
    ]
    send_hints(services.queue, services.log, services.settings.queue("mails"), messages)
