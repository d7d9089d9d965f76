"""Tells by e-mail what was changed in an account, from its audit log: the owners, and who else has to hear of it.

An audit entry is written in the transaction of the change that it tells of, and is in the outbox of these mails by
itself (`AuditEntry.next_due`): no flow has to think of it. What waits of an account becomes one mail to each address,
in the transaction that marks it as told.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from chalicelib.base import ids
from chalicelib.base.email_addresses import EmailAddress
from chalicelib.mail import flows, recipients, rules, store
from chalicelib.mail.records import Mail, MailKind
from chalicelib.platform.access.audit import store as audit_store
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.people.records import APPROVERS
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import window
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write

NEWS = timedelta(days=3)
"""Older entries are not told of: e-mail was switched on after they were written, or it was off for so long."""
EVERY_SECONDS = 300
"""The owners of an account get a mail at most so often. What is changed meanwhile is in the next one, so none is lost,
and nobody who changes many things at once can have many mails sent."""
MOST_LINES = 25
_CHUNK, _MOST_MAILS = 45, 50  # of one transaction; no account has more members
_BATCH = 20_000
"""How many entries of a shard are looked at: more than one account can write while it waits for its next mail."""
_FIRST = ("payee_destination", "change", "client_id", "member", "api_key")
"""What is listed first after the changes that wait: of each kind one entry, then of each a second one, so that nobody
hides one kind behind many entries of another."""
_ASKED = ("change.requested", "change.approved")


def tell(services: Services) -> int:
    """Writes the mails about all entries that are due; returns how many. Safe to repeat and to interrupt."""
    if not flows.is_configured(services):
        return 0
    now = services.clock()
    due = audit_store.to_tell(services.store, now - NEWS, now, _BATCH, services.entropy(1)[0])
    in_time = sweeping.in_time(services.log, services.clock, now + flows.BUDGET, due.items())
    with sweeping.Sweep(services.log) as sweep:
        return sum(sweep.run(lambda each: _tell(services, *each), account) for account in in_time)


def _tell(services: Services, account_id: str, entry_ids: Sequence[str]) -> int:
    """Tells of all entries. Those beyond the first transaction are told again if the process dies before their own."""
    found = [each for each in audit_store.find_entries(services.store, account_id, entry_ids) if not each.is_notified]
    later = {each.entry_id for each in _waiting(found)[MOST_LINES:]}  # the next mail has room for them
    entries = [each for each in found if each.entry_id not in later]
    notified = _entries_by_address(services, account_id, entries) if entries else {}
    if not entries or (notified and not _is_free(services, account_id)):
        return 0
    groups = [(each, _mails(services, account_id, each, to)) for each, to in _alike(notified)]
    mails = [mail for _, of_group in groups for mail in of_group]
    now, marked = services.clock(), list[AuditEntry]()
    for entry in entries:
        about = tuple(mail.mail_id for each, of_group in groups if entry in each for mail in of_group)
        marked.append(replace(entry, is_notified=True, notified_at=now, mail_ids=about or None, mailed_to=None))
    if not try_write(services.store, *marked[:_CHUNK], *mails):
        return 0  # another sweep has told of some
    flows.queue_mails(services, mails)
    for start in range(_CHUNK, len(marked), _CHUNK):
        try_write(services.store, *marked[start : start + _CHUNK])
    return len(mails)


def _entries_by_address(
    services: Services, account_id: str, entries: Sequence[AuditEntry]
) -> dict[EmailAddress, list[AuditEntry]]:
    """Of which entries each address is told.

    Owners are told of all, who else may approve of what waits for approval, and a person of how they sign in at the
    addresses that they had before: whoever has one session can neither keep the others in the dark nor the person.
    """
    owners = recipients.addresses(services.store, account_id, recipients.OWNERS)
    is_any_waiting = any(_is_of_approval(each) for each in entries)
    approvers = recipients.addresses(services.store, account_id, APPROVERS) if is_any_waiting else ()
    entries_of: dict[EmailAddress, list[AuditEntry]] = {to: [] for to in (*owners, *approvers)}
    for entry in sorted(entries, key=lambda each: each.entry_id):  # then addresses of before come before a thief's
        of_person = map(EmailAddress, entry.mailed_to or ())
        for to in dict.fromkeys((*owners, *(approvers if _is_of_approval(entry) else ()), *of_person)):
            entries_of.setdefault(to, []).append(entry)
    return dict(list(entries_of.items())[:_MOST_MAILS])


def _is_of_approval(entry: AuditEntry) -> bool:
    return entry.action.startswith("change.")


def _alike(
    notified: Mapping[EmailAddress, Sequence[AuditEntry]]
) -> list[tuple[Sequence[AuditEntry], list[EmailAddress]]]:
    """The entries with the addresses that are told of just these."""
    alike: dict[tuple[str, ...], tuple[Sequence[AuditEntry], list[EmailAddress]]] = {}
    for to, entries in notified.items():
        alike.setdefault(tuple(each.entry_id for each in entries), (entries, []))[1].append(to)
    return list(alike.values())


def _is_free(services: Services, account_id: str) -> bool:
    now, scale = services.clock(), services.settings.rate_limit_scale
    return rate_limits.count(services, window("mail_changes", account_id, scale, EVERY_SECONDS, now)) is not None


def _mails(
    services: Services, account_id: str, entries: Sequence[AuditEntry], owners: Sequence[EmailAddress]
) -> tuple[Mail, ...]:
    account = credential_store.account(services.store, account_id)
    waiting = _waiting(entries)
    first = {each.entry_id for each in waiting}
    others = [each for each in entries if each.entry_id not in first]
    others = _in_turn(others)
    rest = sorted(others[: MOST_LINES - len(waiting)], key=lambda each: each.entry_id)
    lines = [_line(each) for each in (*waiting, *rest)]
    facts = {"account": account.name if account else account_id, "lines": json.dumps(lines, ensure_ascii=False)}
    if len(entries) > MOST_LINES:
        facts["count"] = str(len(entries) - MOST_LINES)
    now = services.clock()
    return tuple(
        rules.new_mail(
            rules.Draft(MailKind.CHANGES, each, facts, account_id=account_id),
            ids.ulid(now, services.entropy),
            store.mailbox(services.store, each).locale,
            None,
            now,
        )
        for each in owners
    )


def _waiting(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """The requests for changes that still wait, as far as these entries tell, the newest first."""
    ended = {each.target for each in entries if each.action.startswith("change.") and each.action not in _ASKED}
    asked = [each for each in entries if each.action == _ASKED[0] and each.target not in ended]
    return sorted(asked, key=lambda each: each.entry_id, reverse=True)


def _in_turn(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """The entries, of each resource the first one, then of each the second one, and so on."""
    turns, known = list[tuple[int, int, str, AuditEntry]](), Counter[str]()
    for each in sorted(entries, key=lambda each: each.entry_id):
        resource = each.action.partition(".")[0]
        rank = _FIRST.index(resource) if resource in _FIRST else len(_FIRST)
        turns.append((known[resource], rank, each.entry_id, each))
        known[resource] += 1
    return [each for *_, each in sorted(turns, key=lambda turn: turn[:3])]


def _line(entry: AuditEntry) -> list[str | list[str]]:
    """Time, what was done to what, for a change that waits by its operation, and by whom from where."""
    resource, _, verb = entry.action.partition(".")
    done = [f"noun.{resource}", f"verb.{verb}"]
    rest = [each for each in (entry.operation, entry.target, entry.actor, entry.ip_address) if each]
    return [f"{entry.at:%Y-%m-%d %H:%M} UTC", done, *rest]
