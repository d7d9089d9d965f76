"""Orchestrators and their links to client ids, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LinkageStatus(StrEnum):
    ACTIVE = "active"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Orchestrator:
    """A platform. `account_id` is the account of whoever registered it.

    It links the client ids of its own account. A client id is public, so to know one is no consent of its owner: of
    others it links those whose owner admits it (`ClientId.admits_orchestrator`).
    """

    orchestrator_id: str
    account_id: str
    name: str
    contact_email: str
    created_at: datetime
    version: int = 0


@dataclass(frozen=True)
class Linkage:
    """One client id under one orchestrator. A client id is linked once in its life (supplement, part 8)."""

    orchestrator_id: str
    client_id: str
    client_id_hash: str
    status: LinkageStatus
    created_at: datetime
    revoked_at: datetime | None = None
    version: int = 0
