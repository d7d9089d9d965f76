"""Adds, lists, reads and revokes credentials of any kind. Every change has an entry in the audit log."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.audit.rules import make_entry
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import (
    ApiKey,
    ClientId,
    CredentialPointer,
    CredentialStatus,
    OrchestratorKey,
)
from chalicelib.platform.access.credentials.store import CREDENTIALS, Credential
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry, retry_conflicts
from chalicelib.platform.storage.store import Delete, Write

MAX_CREDENTIALS = 1000
"""How many API keys and how many client ids an account may have, including revoked client ids."""

T = TypeVar("T", bound=Credential)
_NAMES: dict[type, str] = {ApiKey: "API key", ClientId: "Client ID", OrchestratorKey: "Orchestrator key"}


def read(services: Services, account_id: str, kind: type[T], record_id: str) -> tuple[T, datetime | None]:
    """One of an account's credentials, and when it was last used. Raises NotFound."""
    record = own_credential(services, account_id, kind, record_id)
    used = credential_store.last_use(services.store, record_id)
    return record, used.at if used else None


def list_own(services: Services, account_id: str, kind: type[T]) -> list[tuple[T, datetime | None]]:
    """An account's credentials of a kind, oldest first, and when each was last used."""
    records = credential_store.own_credentials(services.store, account_id, kind)
    return [(record, used.at if used else None) for record, used in records]


def find(services: Services, text: str) -> Credential | None:
    """The record of a credential, by the text that callers send. For operator commands."""
    return credential_store.credential(services.store, text)


def find_by_id(services: Services, account_id: str, record_id: str) -> Credential | None:
    """One of an account's credentials, of any kind, by its public id. For operator commands."""
    for kind in CREDENTIALS:
        with suppress(NotFound):
            return own_credential(services, account_id, kind, record_id)
    return None


def revoke(services: Services, actor: Actor, record: T) -> T:
    """Revokes a credential permanently. A key is no longer listed; a client id stays listed as revoked.

    A change at the same moment does not prevent it: whoever keeps changing a credential could keep it that way.
    """

    def read_again() -> T:
        changed = credential_store.as_stored(services.store, record)
        assert changed is not None, "credentials are not deleted"
        return changed

    return retry(5, lambda each: _revoke(services, actor, each), record, read_again)


def _revoke(services: Services, actor: Actor, record: T) -> T:
    if record.status is CredentialStatus.REVOKED:
        return record
    changes: dict[str, Any] = {"status": CredentialStatus.REVOKED}
    if isinstance(record, ClientId):
        changes["updated_at"] = services.clock()
    revoked = replace(record, **changes)
    writes: list[Write] = [revoked, audit_entry(services, actor, revoked, "revoked")]
    if not isinstance(revoked, ClientId):
        pointer = credential_store.pointer(services.store, revoked.account_id, type(revoked), revoked.key_id)
        writes += [Delete(pointer)] if pointer else []
    services.store.write(*writes)
    return revoked


def set_tier(services: Services, actor: Actor, record: Credential, tier: Tier) -> None:
    """Sets the rate limit tier of a credential."""
    changed = replace(record, tier=tier)
    services.store.write(changed, audit_entry(services, actor, changed, "tier_changed"))


def add(services: Services, actor: Actor, record: ApiKey | ClientId) -> None:
    """Stores a new credential; reads and writes as `add_within`. Raises BadRequest if the account has too many."""
    limit = Limit(MAX_CREDENTIALS, f"{_NAMES[type(record)]}s")
    add_within(services, limit, record, audit_entry(services, actor, record, "created"))


@frozen
class Limit:
    """How many of something an account may have, and what it is called."""

    most: int
    name: str


@retry_conflicts(50)  # so many additions may come first
def add_within(services: Services, limit: Limit, record: Credential, *writes: Write) -> None:
    """Writes a new credential and its pointer in one transaction with other records, if there is room for it.

    Two reads, one transaction, repeated if another addition came first, so that the limit holds however many are made
    at once. Raises BadRequest if there is no room.
    """
    kind, account_id = type(record), record.account_id
    additions = credential_store.additions(services.store, account_id, kind)  # before what it guards is counted
    if len(credential_store.pointers(services.store, account_id, kind)) >= limit.most:
        raise BadRequest(f"No more than {limit.most} {limit.name} an account")
    services.store.write(record, pointer_of(record), additions, *writes)


def audit_entry(services: Services, actor: Actor, record: Credential, verb: str) -> AuditEntry:
    action = f"{record.KIND.lower()}.{verb}"
    return make_entry(actor, action, record.public_id, services.clock(), services.entropy)


def pointer_of(record: Credential) -> CredentialPointer:
    """The pointer from an account to a new credential."""
    return CredentialPointer(record.account_id, record.KIND, record.public_id, record.credential_hash)


def own_credential(services: Services, account_id: str, kind: type[T], record_id: str) -> T:
    """An account's credential by its public id. Two reads. Raises NotFound, also for a revoked API key.

    The status is checked because the key may be revoked between the two reads; a change would make it active again.
    """
    record = credential_store.own_credential(services.store, account_id, kind, record_id)
    if record is None or (isinstance(record, ApiKey) and record.status is CredentialStatus.REVOKED):
        raise NotFound(f"{_NAMES[kind]} not found")
    return record
