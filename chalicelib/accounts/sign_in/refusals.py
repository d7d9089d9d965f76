"""Writes refused sign-ins to the audit log."""

from dataclasses import replace

from chalicelib.base import ids
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Person
from chalicelib.platform.access.people.rules import account_for
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write

NOBODY = "nobody"
"""In place of the id of an unknown person, so that looking for them takes the same calls."""


def record(services: Services, person: Person | None, actor: Actor) -> None:
    """Writes the entry to the account that the person would have signed in to.

    For an unknown person the write fails, which takes the same time. It is no step of the request: else a refusal with
    an idempotency key would be kept for a known person alone. One query, one write.
    """
    memberships = person_store.memberships_of(services.store, person.person_id if person else NOBODY)
    joined = account_for(person, memberships) if person else None
    account_id = joined.account_id if joined else ids.ulid(services.clock(), services.entropy)
    actor = replace(actor, account_id=account_id)
    entry = audit.make_entry(actor, "session.refused", account_id, services.clock(), services.entropy)
    try_write(services.store.apart, entry if joined else replace(entry, version=1))
