"""Reads accounts and credentials: by a credential's hash, or by account and public id."""

from typing import Any, TypeVar

from chalicelib.base.errors import NotFound
from chalicelib.base.records import Key, Record
from chalicelib.platform.access.credentials.records import (
    Account,
    ApiKey,
    ClientId,
    CredentialAdditions,
    CredentialPointer,
    LastUse,
    OrchestratorKey,
)
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.storage.store import Store

Credential = ApiKey | ClientId | OrchestratorKey
CREDENTIALS: tuple[type[Credential], ...] = (ApiKey, ClientId, OrchestratorKey)
T = TypeVar("T", bound=Credential)


def account(store: Store, account_id: str) -> Account | None:
    """One read."""
    return store.get(Account, Account.KEY.of(account_id=account_id))


def has_approvals(store: Store, account_id: str) -> bool:
    """Whether what redirects money of an account waits for a second person (accounts/changes). One read."""
    found = account(store, account_id)
    return found is not None and bool(found.has_approvals)


def credential(store: Store, text: str) -> Credential | None:
    """The record of a credential of any kind, by the text that callers send. One read."""
    digest = credential_hash(text)
    found = store.get_many({kind.KEY.of(credential_hash=digest): kind for kind in CREDENTIALS})
    return next(iter(found.values()), None)


def as_stored(store: Store, record: T) -> T | None:
    """A credential as it is now. One read."""
    return store.get(type(record), record.key)


def own_client_id(store: Store, account_id: str, client_id: str) -> ClientId:
    """A client id of the account, in any status, by the text that callers send. One read.

    Raises NotFound if it is unknown or belongs to another account.
    """
    found = store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(client_id)))
    if found is None or found.account_id != account_id:
        raise NotFound("Client ID not found")
    return found


def client_id_of(store: Store, digest: str) -> ClientId | None:
    """The client id with a hash. One read."""
    return store.get(ClientId, ClientId.KEY.of(credential_hash=digest))


def pointer(store: Store, account_id: str, kind: type[T], record_id: str) -> CredentialPointer | None:
    """The pointer from an account to one of its credentials. One read."""
    key = CredentialPointer.KEY.of(account_id=account_id, kind=kind.KIND, record_id=record_id)
    return store.get(CredentialPointer, key)


def pointers(store: Store, account_id: str, kind: type[T]) -> tuple[CredentialPointer, ...]:
    """The pointers to the account's credentials of a kind, oldest first. One query."""
    return store.query(CredentialPointer, CredentialPointer.KEY.all(account_id=account_id, kind=kind.KIND))


def additions(store: Store, account_id: str, kind: type[T]) -> CredentialAdditions:
    """The record that orders the additions of a kind; a new one (version 0) if there is none. One read."""
    key = CredentialAdditions.KEY.of(account_id=account_id, kind=kind.KIND)
    return store.get(CredentialAdditions, key) or CredentialAdditions(account_id, kind.KIND)


def own_credential(store: Store, account_id: str, kind: type[T], record_id: str) -> T | None:
    """An account's credential by its public id. Two reads: the pointer under the account, and the record."""
    found = pointer(store, account_id, kind, record_id)
    return store.get(kind, kind.KEY.of(credential_hash=found.credential_hash)) if found else None


def own_credentials(store: Store, account_id: str, kind: type[T]) -> list[tuple[T, LastUse | None]]:
    """An account's credentials of a kind, oldest first, with their last use.

    One query, and one batch read for every 50 credentials (two keys each).
    """
    keys = [
        (kind.KEY.of(credential_hash=each.credential_hash), LastUse.KEY.of(record_id=each.record_id))
        for each in pointers(store, account_id, kind)
    ]
    wanted: dict[Key, type[Record]] = {key: kind for key, _ in keys}
    wanted |= {key: LastUse for _, key in keys}
    found: dict[Key, Any] = store.get_many(wanted)
    return [(found[key], found.get(used)) for key, used in keys if key in found]


def last_use(store: Store, record_id: str) -> LastUse | None:
    """The last recorded use of a credential, by its public id. One read."""
    return store.get(LastUse, LastUse.KEY.of(record_id=record_id))
