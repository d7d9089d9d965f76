"""What each role may do, and how people and memberships are made.

A role is a set of scopes: those of API keys, and those of operations that only people call.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib.base import ids
from chalicelib.base.errors import Forbidden
from chalicelib.base.frozen import make_from
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.credentials.rules import SCOPES
from chalicelib.platform.access.people.records import (
    Identity,
    Membership,
    MembershipPointer,
    Person,
    Role,
    is_email,
)

OWNERS = "owners:write"
"""The scope to make owners, and to change and remove them."""
APPROVES = "changes:write"
"""The scope to approve and to refuse changes that wait."""
PEOPLES_SCOPES = (
    "api_keys:read", "api_keys:write", "orchestrators:write", "members:read", "members:write", "account:read",
    "account:write", "changes:read", APPROVES, OWNERS,
)
"""The scopes of operations that only people call: no API key can have one of these."""

_VIEWS = tuple(
    f"{resource}:read"
    for resource in (
        "secure_payments", "requests", "payouts", "webhooks", "client_ids", "payee_destinations", "members", "account",
        "changes",
    )
)
_ADMINISTERS = tuple(scope for scope in (*SCOPES, *PEOPLES_SCOPES) if scope != OWNERS)
SCOPES_OF: dict[Role, tuple[str, ...]] = {
    Role.OWNER: (*_ADMINISTERS, OWNERS),
    Role.ADMIN: _ADMINISTERS,
    Role.FINANCE: (
        *_VIEWS, "secure_payments:write", "requests:write", "payouts:write", "payee_destinations:write", "audit:read",
        APPROVES,
    ),
    Role.SUPPORT: (*_VIEWS, "secure_payments:write"),
    Role.DEVELOPER: (
        *_VIEWS, "api_keys:read", "api_keys:write", "client_ids:write", "webhooks:write", "orchestrators:write",
        "audit:read",
    ),
    Role.VIEWER: _VIEWS,
}


def check_role(role: Role, required: str | None) -> None:
    """Raises Forbidden, naming role and scope, if the role does not have the required scope."""
    if required is not None and required not in SCOPES_OF[role]:
        raise Forbidden(f"Your role in this account is {role}, which lacks the scope {required}")


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


def ending_sessions(person: Person) -> Person:
    """The person as all sessions that are open end."""
    return replace(person, sessions_since=person.version + 1)
