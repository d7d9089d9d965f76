"""The e-mails about an event: one to each member who looks after money, if the account chose them.

They are written by the publisher, as deliveries of webhooks are, before the event counts as published. Their ids are
derived from event and address, so an event that is published twice makes no second mail.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chalicelib.base.email_addresses import EmailAddress
from chalicelib.mail import flows as mail
from chalicelib.mail import recipients
from chalicelib.mail import store as mail_store
from chalicelib.mail.flows import Limit
from chalicelib.mail.records import Choices, MailKind
from chalicelib.mail.rules import Draft
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.services import Services
from chalicelib.webhooks.records import MISPAID, Event

KINDS = {
    "payment.confirmed": MailKind.PAYMENT,
    "payment.partial": MailKind.PAYMENT,
    "payment.failed": MailKind.ATTENTION,
    "payment.unexpected": MailKind.ATTENTION,
    "webhook.failing": MailKind.ATTENTION,
}
"""The kinds of events that a mail tells of, and which of the two choices of an account each belongs to."""
EACH_DAY = Limit(of_account=1000)
_LABELS = {
    "amount": "label.amount",
    "network": "label.network",
    "reference": "label.reference",
    "requestId": "label.request",
    "txHash": "label.transaction",
    "webhookId": "noun.webhook",
}
"""What a mail shows of the body of an event, and what it calls that: keys of the locales."""

Mailing = Callable[[Event], None]


def mailing(services: Services) -> Mailing:
    """What writes and queues the mails of an event; what it reads of an account is read once."""
    known: dict[str, tuple[Choices, str, tuple[EmailAddress, ...]]] = {}

    def write(event: Event) -> None:
        kind = KINDS.get(event.kind)
        if kind is None:
            return
        if event.account_id not in known:
            known[event.account_id] = _readers(services, event.account_id)
        choices, account, addresses = known[event.account_id]
        body: dict[str, Any] = {} if event.person_id else json.loads(event.body)  # that about a person is sealed
        notable = [label for label in MISPAID if kind is MailKind.PAYMENT and label in body.get("labels", ())]
        if notable and choices.wants(MailKind.ATTENTION):
            kind = MailKind.ATTENTION
        if choices.wants(kind):
            shown = [f"event.payment.{label}" for label in notable] or [f"event.{event.kind}"]
            facts = _facts(shown, body, account)
            for address in addresses:
                draft = Draft(kind, address, facts, None, event.account_id)
                mail.write_of_event(services, event.event_id, draft, EACH_DAY)

    return write


def _readers(services: Services, account_id: str) -> tuple[Choices, str, tuple[EmailAddress, ...]]:
    """The choices of an account, its name, and who is written to; nobody unless it chose something. At most five
    reads."""
    choices = mail_store.choices(services.store, account_id)
    if not (choices.payments or choices.attention):
        return choices, "", ()
    account = credential_store.account(services.store, account_id)
    addresses = recipients.addresses(services.store, account_id, recipients.MONEY)
    return choices, account.name if account else account_id, addresses


def _facts(shown: Sequence[str], body: Mapping[str, Any], account: str) -> dict[str, str]:
    """What the mail says: what has happened, by keys of the locales, and of the body what has a label. The body of an
    event about a person is empty here."""
    paid = body.get("totalAmountPaid") if body.get("amount") == "0" else body.get("amount")  # 0: no payment confirms it
    found = {**body, "amount": " ".join(str(each) for each in (paid, body.get("currency")) if each)}
    lines: list[list[str | list[str]]] = [[["label.event"], [each]] for each in shown]
    lines += [[[label], str(found[name])] for name, label in _LABELS.items() if found.get(name)]
    return {"account": account, "lines": json.dumps(lines, ensure_ascii=False)}
