"""Orchestrators and their links to client ids, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from chalicelib.base.records import IDENTITY, KeyPattern, Record


class LinkageStatus(StrEnum):
    ACTIVE = "active"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Orchestrator(Record):
    """A platform. `account_id` is the account of whoever registered it.

    It may link the client ids of its own account, and those whose owner admits it (`ClientId.admits_orchestrator`):
    a client id is public, so knowing one does not mean that its owner agrees.
    """

    KEY = KeyPattern(IDENTITY, "ORCHESTRATOR#{orchestrator_id}", "ORCHESTRATOR")

    orchestrator_id: str
    account_id: str
    name: str
    contact_email: str
    created_at: datetime
    version: int = 0


@dataclass(frozen=True)
class Linkage(Record):
    """A client id that is linked to an orchestrator, which it can be once in its life (supplement, part 8)."""

    KEY = KeyPattern(IDENTITY, "ORCHESTRATOR#{orchestrator_id}", "CLIENT#{client_id:.64}")

    orchestrator_id: str
    client_id: str
    client_id_hash: str
    status: LinkageStatus
    created_at: datetime
    revoked_at: datetime | None = None
    version: int = 0
