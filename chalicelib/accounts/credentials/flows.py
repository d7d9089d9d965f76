"""API keys and client ids: make, list, change and revoke them, each change with its line in the audit log."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from chalicelib.access.audit.records import Actor, AuditEntry
from chalicelib.access.audit.rules import entry
from chalicelib.access.credentials.records import ApiKey, ClientId, CredentialStatus, LastUse, OrchestratorKey, Owned
from chalicelib.access.credentials.rules import credential_hash
from chalicelib.access.modes import Tier
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.records import IDENTITY
from chalicelib.services import Services
from chalicelib.storage.store import Delete
from chalicelib.storage.tables import CREDENTIAL_KINDS, account_partition, credential_key, last_use_key, owned_key

MAX_CREDENTIALS = 1000
"""API keys of an account, and its client ids, revoked ones included: what bounds their lists."""

Credential = ApiKey | ClientId | OrchestratorKey
T = TypeVar("T", ApiKey, ClientId, OrchestratorKey)
_NAMES: dict[type, str] = {ApiKey: "API key", ClientId: "Client ID", OrchestratorKey: "Orchestrator key"}


def read(services: Services, account_id: str, kind: type[T], record_id: str) -> tuple[T, datetime | None]:
    """One of an account's credentials, and when it was last used. Raises NotFound."""
    record = own(services, account_id, kind, record_id)
    used = services.store.get(LastUse, last_use_key(record_id))
    return record, used.at if used else None


def list_own(services: Services, account_id: str, kind: type[T]) -> list[tuple[T, datetime | None]]:
    """An account's credentials of a kind, oldest first, and when each was last used."""
    found_owned = owned(services, account_id, kind)
    records = {each.record_id: credential_key(each.credential_hash, kind) for each in found_owned}
    uses = {each.record_id: last_use_key(each.record_id) for each in found_owned}
    found = services.store.get_many({**dict.fromkeys(records.values(), kind), **dict.fromkeys(uses.values(), LastUse)})
    used = {record_id: found[key].at for record_id, key in uses.items() if key in found}
    return [(found[key], used.get(record_id)) for record_id, key in records.items() if key in found]


def find(services: Services, text: str) -> Credential | None:
    """The record of a credential by the credential itself, for the operator."""
    digest = credential_hash(text)
    found = services.store.get_many({credential_key(digest, kind): kind for kind in CREDENTIAL_KINDS})
    return next(iter(found.values()), None)


def find_owned(services: Services, account_id: str, record_id: str) -> Credential | None:
    """One of an account's credentials of any kind by its public id, for the operator."""
    for kind in CREDENTIAL_KINDS:
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
    writes: list[object] = [ended, audit_line(services, actor, ended, "revoked")]
    if isinstance(ended, ApiKey):
        pointer = services.store.get(Owned, owned_key(ended.account_id, ApiKey, ended.key_id))
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
    if len(owned(services, account_id, kind)) >= MAX_CREDENTIALS:
        raise BadRequest(f"No more than {MAX_CREDENTIALS} {_NAMES[kind]}s an account")
    digest = record.key_hash if isinstance(record, ApiKey) else record.client_id_hash
    pointer = Owned(account_id, CREDENTIAL_KINDS[kind], _id_of(record), digest)
    services.store.write(record, pointer, audit_line(services, actor, record, "created"))


def audit_line(services: Services, actor: Actor, record: Credential, verb: str) -> AuditEntry:
    action = f"{CREDENTIAL_KINDS[type(record)].lower()}.{verb}"
    return entry(actor, action, _id_of(record), services.clock(), services.entropy)


def _id_of(record: Credential) -> str:
    return record.record_id if isinstance(record, ClientId) else record.key_id


def own(services: Services, account_id: str, kind: type[T], record_id: str) -> T:
    """Two reads: the pointer under the account, so that nobody reaches another's, and the record.

    A key that was revoked between them is as gone as its pointer: to change it would bring it back.
    """
    pointer = services.store.get(Owned, owned_key(account_id, kind, record_id))
    record = services.store.get(kind, credential_key(pointer.credential_hash, kind)) if pointer else None
    if record is None or (isinstance(record, ApiKey) and record.status is CredentialStatus.REVOKED):
        raise NotFound(f"{_NAMES[kind]} not found")
    return record


def owned(services: Services, account_id: str, kind: type) -> tuple[Owned, ...]:
    """What leads to the account's credentials of a kind, oldest first."""
    first = f"{CREDENTIAL_KINDS[kind]}#"
    return services.store.query(Owned, IDENTITY, account_partition(account_id), first, first + "\uffff")
