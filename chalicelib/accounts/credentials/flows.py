"""API keys and client ids: make, list, change and revoke them, each change with its line in the audit log."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from chalicelib.access.audit.records import Actor, AuditEntry
from chalicelib.access.audit.rules import entry
from chalicelib.access.credentials import store
from chalicelib.access.credentials.records import (
    ApiKey,
    ClientId,
    CredentialPointer,
    CredentialStatus,
    OrchestratorKey,
)
from chalicelib.access.credentials.store import CREDENTIALS, Credential
from chalicelib.access.modes import Tier
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.services import Services
from chalicelib.storage.store import Delete, Write

MAX_CREDENTIALS = 1000
"""API keys of an account, and its client ids, revoked ones included: what bounds their lists."""

T = TypeVar("T", bound=Credential)
_NAMES: dict[type, str] = {ApiKey: "API key", ClientId: "Client ID", OrchestratorKey: "Orchestrator key"}


def read(services: Services, account_id: str, kind: type[T], record_id: str) -> tuple[T, datetime | None]:
    """One of an account's credentials, and when it was last used. Raises NotFound."""
    record = own(services, account_id, kind, record_id)
    used = store.last_use(services.store, record_id)
    return record, used.at if used else None


def list_own(services: Services, account_id: str, kind: type[T]) -> list[tuple[T, datetime | None]]:
    """An account's credentials of a kind, oldest first, and when each was last used."""
    found = store.own_credentials(services.store, account_id, kind)
    return [(record, used.at if used else None) for record, used in found]


def find(services: Services, text: str) -> Credential | None:
    """The record of a credential by the credential itself, for the operator."""
    return store.credential(services.store, text)


def find_owned(services: Services, account_id: str, record_id: str) -> Credential | None:
    """One of an account's credentials of any kind by its public id, for the operator."""
    for kind in CREDENTIALS:
        with suppress(NotFound):
            return own(services, account_id, kind, record_id)
    return None


def revoke(services: Services, actor: Actor, record: T) -> T:
    """Ends a credential for good. A key then leaves the account's list; a client id stays in it, as revoked."""
    if record.status is CredentialStatus.REVOKED:
        return record
    changes: dict[str, Any] = {"status": CredentialStatus.REVOKED}
    if isinstance(record, ClientId):
        changes["updated_at"] = services.clock()
    ended = replace(record, **changes)
    writes: list[Write] = [ended, audit_line(services, actor, ended, "revoked")]
    if isinstance(ended, ApiKey):
        pointer = store.pointer(services.store, ended.account_id, ApiKey, ended.key_id)
        writes += [Delete(pointer)] if pointer else []
    services.store.write(*writes)
    return ended


def set_tier(services: Services, actor: Actor, record: Credential, tier: Tier) -> None:
    """How often the credential may call from now on."""
    changed = replace(record, tier=tier)
    services.store.write(changed, audit_line(services, actor, changed, "tier_changed"))


def add(services: Services, actor: Actor, record: ApiKey | ClientId) -> None:
    """One read, one transaction. Raises BadRequest when the account has too many of the kind."""
    kind, account_id = type(record), record.account_id
    if len(store.pointers(services.store, account_id, kind)) >= MAX_CREDENTIALS:
        raise BadRequest(f"No more than {MAX_CREDENTIALS} {_NAMES[kind]}s an account")
    services.store.write(record, pointer_of(record), audit_line(services, actor, record, "created"))


def audit_line(services: Services, actor: Actor, record: Credential, verb: str) -> AuditEntry:
    action = f"{record.KIND.lower()}.{verb}"
    return entry(actor, action, record.public_id, services.clock(), services.entropy)


def pointer_of(record: Credential) -> CredentialPointer:
    """What leads from its account to a new credential."""
    return CredentialPointer(record.account_id, record.KIND, record.public_id, record.credential_hash)


def own(services: Services, account_id: str, kind: type[T], record_id: str) -> T:
    """An account's credential by its public id. Two reads. Raises NotFound, also for a revoked API key.

    A key may be revoked between the two reads; to change it after that would bring it back.
    """
    record = store.own_credential(services.store, account_id, kind, record_id)
    if record is None or (isinstance(record, ApiKey) and record.status is CredentialStatus.REVOKED):
        raise NotFound(f"{_NAMES[kind]} not found")
    return record
