"""Stored record: an invitation to join an account."""

from datetime import datetime
from typing import Self

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, KeyPattern, Record
from chalicelib.platform.access.people.records import Role


@frozen
class Invitation(Record):
    """An invitation for the person who signs in with the wallet or e-mail address `name`. It is deleted when accepted.

    Its secret is in the link and is stored only as a hash. `invited_by` is the id of the person who invited, or
    `operator`.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "INVITATION#{invitation_id:.64}")
    RESOURCE = "invitation"
    NAMED_BY = ("name",)
    SHOWN = (*NAMED_BY, "role")

    account_id: str
    invitation_id: str
    secret_hash: str
    name: str
    role: Role
    invited_by: str
    created_at: datetime
    expires_at: datetime

    def redirects(self, before: Self | None) -> bool:
        """Who accepts it has the role."""
        return before is None and self.role is not Role.VIEWER

    @property
    def vanishes_at(self) -> datetime:
        """When it expires."""
        return self.expires_at
