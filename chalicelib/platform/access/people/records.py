"""Stored records: people, the wallets and e-mail addresses that they sign in with, and memberships of accounts."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Self

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, KeyPattern, Record


class Role(StrEnum):
    """What a member may do in an account (people/roles.py)."""

    OWNER = "owner"
    ADMIN = "admin"
    FINANCE = "finance"
    SUPPORT = "support"
    DEVELOPER = "developer"
    VIEWER = "viewer"


APPROVERS = frozenset({Role.OWNER, Role.ADMIN, Role.FINANCE})
"""Whose roles have the scope to approve changes that wait (accounts/changes)."""


def name_hash(name: str) -> str:
    """The hash under which an identity is stored, which is its public id too."""
    return hashlib.sha256(name.encode()).hexdigest()


@frozen
class Person(Record):
    """Somebody who signs in. `identities` are the names of their wallets and e-mail addresses, the oldest first.

    Sessions that were opened for this record before its version `sessions_since` have ended. `account_id` is the
    account that the next session is for, as long as the person is a member of it. `passkeys` are the ids of their
    passkeys.
    """

    KEY = KeyPattern(IDENTITY, "PERSON#{person_id}", "PERSON")

    person_id: str
    identities: tuple[str, ...]
    account_id: str
    created_at: datetime
    password_hash: str | None = None
    sessions_since: int = 0
    passkeys: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What other members see of the person: the first e-mail address, or the first wallet."""
        return next((name for name in self.identities if is_email(name)), self.identities[0])


@frozen
class Identity(Record):
    """A wallet or an e-mail address, and the person who signs in with it.

    `name` is the name of a wallet (`Wallet.name`) or an e-mail address in lower case. `verified_at` is when the person
    has shown that it is theirs: a wallet by its signature, an e-mail address by a link that was sent to it.
    """

    KEY = KeyPattern(IDENTITY, "IDENTITY#{name_hash}", "IDENTITY")

    name: str
    person_id: str
    created_at: datetime
    verified_at: datetime | None = None

    @property
    def name_hash(self) -> str:
        return name_hash(self.name)


def is_email(name: str) -> bool:
    """Whether the name of an identity is an e-mail address: its domain has a dot, and no name of a wallet has one."""
    return "." in name


@frozen
class Membership(Record):
    """A person's membership of an account. Without it no session of the person counts in the account.

    A person who leaves and joins again has another `joined_at`, and the sessions of the time before stay ended.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id:.64}", "MEMBER#{person_id:.64}")
    RESOURCE = "member"
    NAMED_BY = ("person_id",)
    SHOWN = (*NAMED_BY, "role")

    account_id: str
    person_id: str
    role: Role
    joined_at: datetime

    def redirects(self, before: Self | None) -> bool:
        """Another role, unless it only takes rights from somebody who could not approve either."""
        if before is None:
            return self.role is not Role.VIEWER
        return before.role is not self.role and (before.role in APPROVERS or self.role is not Role.VIEWER)

    def end_redirects(self, person_id: str | None) -> bool:
        """Somebody else who could approve or refuse; one's own ends at once."""
        return self.role in APPROVERS and self.person_id != person_id


@frozen
class MembershipPointer(Record):
    """Points from a person to an account that they are a member of. It is written once, with the membership."""

    KEY = KeyPattern(IDENTITY, "PERSON#{person_id}", "MEMBER#{account_id}")

    account_id: str
    person_id: str
    joined_at: datetime
