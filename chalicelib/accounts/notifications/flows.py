"""Reads and sets which e-mails about payments an account wants."""

from dataclasses import replace

from chalicelib.mail import store as mail_store
from chalicelib.mail.records import Choices
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts


def read(services: Services, account_id: str) -> Choices:
    """One read."""
    return mail_store.choices(services.store, account_id)


@retry_conflicts(5)
def choose(services: Services, actor: Actor, payments: bool, attention: bool) -> Choices:
    """Sets both choices, with an audit entry, in one transaction; no write if nothing differs."""
    known = mail_store.choices(services.store, actor.account_id)
    chosen = replace(known, payments=payments, attention=attention)
    if chosen == known:
        return known
    entry = audit.make_entry(actor, "notifications.updated", actor.account_id, services.clock(), services.entropy)
    return services.store.write(chosen, entry)
