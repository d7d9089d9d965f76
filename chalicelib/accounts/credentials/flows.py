"""API keys and client ids: make, list, change and revoke them, each change with its line in the audit log."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from chalicelib.aws.store import Delete, WriteConflict
from chalicelib.aws.tables import (
    CREDENTIAL_KINDS,
    IDENTITY,
    Key,
    LastUse,
    account_partition,
    credential_key,
    last_use_key,
    linkage_key,
    orchestrator_key,
    owned_key,
)
from chalicelib.core.api_keys import ApiKeySettings, changed_api_key, new_api_key, toggled_api_key
from chalicelib.core.audit import Actor, AuditEntry, entries, entry
from chalicelib.core.client_ids import ClientIdSettings, changed_client_id, new_client_id
from chalicelib.core.credentials import (
    ApiKey,
    ClientId,
    CredentialStatus,
    OrchestratorKey,
    Owned,
    credential_hash,
)
from chalicelib.core.errors import BadRequest, NotFound
from chalicelib.core.orchestrators import Linkage, Orchestrator, unlink
from chalicelib.core.payee_destinations import PayeeDestination
from chalicelib.core.rate_limits import Tier
from chalicelib.services import Services

MAX_CREDENTIALS = 1000
"""API keys of an account, and its client ids, revoked ones included: what bounds their lists."""
USE_INTERVAL = timedelta(minutes=1)
"""How often a container writes down that a credential is used."""
_MAX_NOTED = 10_000

Credential = ApiKey | ClientId | OrchestratorKey
T = TypeVar("T", ApiKey, ClientId, OrchestratorKey)
_NAMES: dict[type, str] = {ApiKey: "API key", ClientId: "Client ID", OrchestratorKey: "Orchestrator key"}


def create_api_key(services: Services, actor: Actor, settings: ApiKeySettings) -> tuple[ApiKey, str]:
    """A new API key of the actor's account, and the key itself, which is not readable again. Raises BadRequest."""
    key, text = new_api_key(actor.account_id, settings, services.clock(), services.entropy)
    _add(services, actor, key)
    return key, text


def change_api_key(services: Services, actor: Actor, key_id: str, settings: ApiKeySettings | None) -> ApiKey:
    """The key with other settings; without settings it is switched off or on. Raises NotFound, BadRequest."""
    key = _own(services, actor.account_id, ApiKey, key_id)
    changed = toggled_api_key(key) if settings is None else changed_api_key(key, settings, services.clock())
    services.store.write(changed, _line(services, actor, changed, "updated"))
    return changed


def create_client_id(services: Services, actor: Actor, settings: ClientIdSettings) -> ClientId:
    """A new client id of the actor's account. Raises BadRequest."""
    bound = _bound(services, actor.account_id, settings)
    client = new_client_id(actor.account_id, bound, services.clock(), services.entropy)
    _add(services, actor, client)
    return client


def change_client_id(services: Services, actor: Actor, record_id: str, settings: ClientIdSettings) -> ClientId:
    """The client id with other settings; one that is revoked stays so. Raises NotFound, BadRequest.

    Settings that admit no orchestrator, or another, end the link to the one that acts for it, in the same transaction.
    """
    client = _own(services, actor.account_id, ClientId, record_id)
    bound = _bound(services, actor.account_id, settings)
    changed = changed_client_id(client, bound, services.clock())
    is_end = changed.status is CredentialStatus.REVOKED and client.status is not CredentialStatus.REVOKED
    writes: list[object] = [_line(services, actor, changed, "revoked" if is_end else "updated")]
    if client.orchestrator_id is not None and settings.get("admits_orchestrator", client.orchestrator_id) != (
        client.orchestrator_id
    ):
        changed, ended = _unlinked(services, actor, changed, client.orchestrator_id)
        writes += ended
    services.store.write(changed, *writes)
    return changed


def revoke_api_key(services: Services, actor: Actor, key_id: str) -> None:
    """Ends a key for good; it is no longer listed. Raises NotFound."""
    revoke(services, actor, _own(services, actor.account_id, ApiKey, key_id))


def revoke_client_id(services: Services, actor: Actor, record_id: str) -> ClientId:
    """Ends a client id for good; it stays listed as revoked. To do it again changes nothing. Raises NotFound."""
    return revoke(services, actor, _own(services, actor.account_id, ClientId, record_id))


def read(services: Services, account_id: str, kind: type[T], record_id: str) -> tuple[T, datetime | None]:
    """One of an account's credentials, and when it was last used. Raises NotFound."""
    record = _own(services, account_id, kind, record_id)
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


def own_client_id(services: Services, account_id: str, client_id: str) -> ClientId:
    """The account's client id of that text, in any status. Raises NotFound for another's or an unknown one."""
    client = services.store.get(ClientId, credential_key(credential_hash(client_id), ClientId))
    if client is None or client.account_id != account_id:
        raise NotFound("Client ID not found")
    return client


def find(services: Services, text: str) -> Credential | None:
    """The record of a credential by the credential itself, for the operator."""
    digest = credential_hash(text)
    found = services.store.get_many({credential_key(digest, kind): kind for kind in CREDENTIAL_KINDS})
    return next(iter(found.values()), None)


def find_owned(services: Services, account_id: str, record_id: str) -> Credential | None:
    """One of an account's credentials of any kind by its public id, for the operator."""
    for kind in CREDENTIAL_KINDS:
        with suppress(NotFound):
            return _own(services, account_id, kind, record_id)
    return None


def revoke(services: Services, actor: Actor, record: T) -> T:
    """Ends a credential for good. A key then leaves the account's list; a client id stays in it, as revoked."""
    if record.status is CredentialStatus.REVOKED:
        return record
    changes: dict[str, Any] = {"status": CredentialStatus.REVOKED}
    if isinstance(record, ClientId):
        changes["updated_at"] = services.clock()
    ended = replace(record, **changes)
    writes: list[object] = [ended, _line(services, actor, ended, "revoked")]
    if isinstance(ended, ApiKey):
        pointer = services.store.get(Owned, owned_key(ended.account_id, ApiKey, ended.key_id))
        writes += [Delete(pointer)] if pointer else []
    services.store.write(*writes)
    return ended


def set_tier(services: Services, actor: Actor, record: Credential, tier: Tier) -> None:
    """How often the credential may call from now on."""
    changed = replace(record, tier=tier)
    services.store.write(changed, _line(services, actor, changed, "tier_changed"))


def note_use(services: Services, record_ids: Iterable[str]) -> None:
    """Writes down that credentials are used now; at most once a minute for each of them and this container.

    A note that cannot be written is logged: what was asked for is worth more than the note.
    """
    now = services.clock()
    if len(services.noted) > _MAX_NOTED:
        services.noted.clear()
    for record_id in record_ids:
        noted = services.noted.get(record_id)
        if noted is None or now - noted >= USE_INTERVAL:
            services.noted[record_id] = now
            try:
                _write_use(services, record_id, now)
            except Exception:  # whichever way DynamoDB failed
                services.log.exception("last use not noted", extra={"record": record_id})


def _write_use(services: Services, record_id: str, now: datetime) -> None:
    used = services.store.get(LastUse, last_use_key(record_id))
    if used is not None and now - used.at < USE_INTERVAL:
        return  # by another container
    with suppress(WriteConflict):  # another container writes it this very moment
        services.store.write(LastUse(record_id, now, used.version if used else 0))


def _add(services: Services, actor: Actor, record: ApiKey | ClientId) -> None:
    """One read, one transaction. Raises BadRequest when the account has too many of the kind."""
    kind, account_id = type(record), record.account_id
    if len(owned(services, account_id, kind)) >= MAX_CREDENTIALS:
        raise BadRequest(f"No more than {MAX_CREDENTIALS} {_NAMES[kind]}s an account")
    digest = record.key_hash if isinstance(record, ApiKey) else record.client_id_hash
    pointer = Owned(account_id, CREDENTIAL_KINDS[kind], _id_of(record), digest)
    services.store.write(record, pointer, _line(services, actor, record, "created"))


def _line(services: Services, actor: Actor, record: Credential, verb: str) -> AuditEntry:
    action = f"{CREDENTIAL_KINDS[type(record)].lower()}.{verb}"
    return entry(actor, action, _id_of(record), services.clock(), services.entropy)


def _id_of(record: Credential) -> str:
    return record.record_id if isinstance(record, ClientId) else record.key_id


def _own(services: Services, account_id: str, kind: type[T], record_id: str) -> T:
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


def _unlinked(
    services: Services, actor: Actor, client: ClientId, orchestrator_id: str
) -> tuple[ClientId, list[object]]:
    """The client id without its orchestrator, and what is written with it; one read."""
    linked, platform = linkage_key(orchestrator_id, client.client_id), orchestrator_key(orchestrator_id)
    found: dict[Key, Any] = services.store.get_many({linked: Linkage, platform: Orchestrator})
    now = services.clock()
    ended, freed = unlink(found[linked], client, now)
    accounts = (found[platform].account_id,)
    lines = entries(actor, "orchestrator.unlinked", client.record_id, accounts, now, services.entropy)
    return freed, [ended, *lines]


def _bound(services: Services, account_id: str, settings: ClientIdSettings) -> ClientIdSettings:
    """The settings with the id of a payee destination's record, which may be named by its ERC-7828 id, too.

    Raises BadRequest unless it is an active destination of the account, and an orchestrator that is admitted exists.
    """
    admitted = settings.get("admits_orchestrator")
    if admitted is not None and services.store.get(Orchestrator, orchestrator_key(admitted)) is None:
        raise BadRequest("orchestratorId is not the id of an orchestrator")
    named = settings.get("payee_destination_id")
    if named is None:
        return settings
    partition, first = account_partition(account_id), "DESTINATION#"
    for own in services.store.query(PayeeDestination, IDENTITY, partition, first, first + "\uffff"):
        if own.is_active and named in (own.record_id, own.destination_id):
            return {**settings, "payee_destination_id": own.record_id}
    raise BadRequest("payeeDestinationId is not an active payee destination of this account")
