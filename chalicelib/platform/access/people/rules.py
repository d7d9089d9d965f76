"""How people, memberships and accounts are made."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib.base import ids
from chalicelib.base.frozen import make_from
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people.records import (
    Identity,
    Membership,
    MembershipPointer,
    Person,
    Role,
    is_email,
)


def new_person(
    name: str, account_id: str, password_hash: str | None, now: datetime, entropy: Entropy
) -> tuple[Person, Identity]:
    """A person who signs in with this wallet or e-mail address. A wallet has signed, so it is verified."""
    person = Person(ids.ulid(now, entropy), (name,), account_id, now, password_hash)
    return person, Identity(name, person.person_id, now, None if is_email(name) else now)


def new_membership(account_id: str, person_id: str, role: Role, now: datetime) -> tuple[Membership, MembershipPointer]:
    """A membership and its pointer, to be written together."""
    membership = Membership(account_id, person_id, role, now)
    return membership, pointer_of(membership)


def new_account(person: Person, name: str, now: datetime) -> tuple[Account, Membership, MembershipPointer]:
    """The account `person.account_id`, of which the person is the owner, to be written together."""
    return Account(person.account_id, name, now), *new_membership(person.account_id, person.person_id, Role.OWNER, now)


def pointer_of(membership: Membership) -> MembershipPointer:
    """The pointer to a membership as it is stored: new with a new membership, and never written again."""
    return make_from(MembershipPointer, membership, version=min(membership.version, 1))


def account_for(person: Person, memberships: Iterable[MembershipPointer]) -> MembershipPointer | None:
    """The membership that a new session is for: that of the person's `account_id`, or the oldest. None without any."""
    own = sorted(memberships, key=lambda each: (each.account_id != person.account_id, each.joined_at))
    return own[0] if own else None


def with_sessions_ended(person: Person) -> Person:
    """The person as all sessions that are open end."""
    return replace(person, sessions_since=person.version + 1)
