"""Stored records: orchestrators and their links to client ids."""

from datetime import datetime
from enum import StrEnum
from typing import Self

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, KeyPattern, Record


class LinkageStatus(StrEnum):
    ACTIVE = "active"
    REVOKED = "revoked"


@frozen
class Orchestrator(Record):
    """A platform. `account_id` is the account that registered it.

    It may link the client ids of its own account, and those whose owner admits it (`ClientId.admits_orchestrator`).
    The owner has to admit it because client ids are public.
    """

    KEY = KeyPattern(IDENTITY, "ORCHESTRATOR#{orchestrator_id}", "ORCHESTRATOR")
    RESOURCE = "orchestrator"
    SHOWN = ("name", "contact_email")

    orchestrator_id: str
    account_id: str
    name: str
    contact_email: str
    created_at: datetime

    def redirects(self, before: Self | None) -> bool:
        """A new one, as its key links the client ids of its account and creates links with them."""
        return before is None


@frozen
class Linkage(Record):
    """The link of a client id to an orchestrator. A client id can be linked only once (supplement, part 8)."""

    KEY = KeyPattern(IDENTITY, "ORCHESTRATOR#{orchestrator_id}", "CLIENT#{client_id:.64}")

    orchestrator_id: str
    client_id: str
    client_id_hash: str
    status: LinkageStatus
    created_at: datetime
    revoked_at: datetime | None = None
