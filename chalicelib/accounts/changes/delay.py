"""When the delay of a change is over, after which it takes effect although nobody has approved it."""

from datetime import datetime

from chalicelib.accounts.changes.records import PendingChange
from chalicelib.accounts.changes.rules import LIFETIME
from chalicelib.mail import recipients
from chalicelib.mail.flows import first_sent, is_configured
from chalicelib.platform.access.audit import store as audit_store
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import APPROVERS
from chalicelib.platform.services import Services


def ends_at(services: Services, change: PendingChange) -> datetime | None:
    """When a change takes effect without approval; None if it does not, or that is not known yet.

    Where mails are sent the whole delay runs from the first one to somebody else who may refuse it: it protects nobody
    who was not told, and a thief may have the mailbox of the asker. If none of those has a confirmed address, it runs
    from when mails would have been written, for LIFETIME at least. An asker who is alone is told themselves.
    """
    if change.takes_effect_at is None or not is_configured(services):
        return change.takes_effect_at
    (entry,) = audit_store.find_entries(services.store, change.account_id, [change.notice_id]) or (None,)
    if entry is None or entry.notified_at is None:
        return None
    delay, asker = change.takes_effect_at - change.asked_at, change.asker.person_id
    able = {
        each.person_id for each in person_store.members(services.store, change.account_id) if each.role in APPROVERS
    }
    others = able - {asker}
    to = recipients.addresses(services.store, change.account_id, APPROVERS, others or able)
    if not to:
        return entry.notified_at + (max(delay, LIFETIME) if others else delay)
    sent_at = first_sent(services, entry.mail_ids or (), to)
    return sent_at + delay if sent_at else None
