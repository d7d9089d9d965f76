"""Accounts, users and credentials: by the credential's hash, or as an account's own by their public ids."""

from collections.abc import Iterable
from typing import Any, TypeVar

from chalicelib.access.credentials.records import (
    Account,
    ApiKey,
    ClientId,
    CredentialPointer,
    LastUse,
    OrchestratorKey,
    User,
    name_hash,
)
from chalicelib.access.credentials.rules import credential_hash
from chalicelib.base.errors import NotFound
from chalicelib.base.records import Key, Record
from chalicelib.storage.store import Store

Credential = ApiKey | ClientId | OrchestratorKey
CREDENTIALS: tuple[type[Credential], ...] = (ApiKey, ClientId, OrchestratorKey)
T = TypeVar("T", bound=Credential)


def account(store: Store, account_id: str) -> Account | None:
    """One read."""
    return store.get(Account, Account.KEY.of(account_id=account_id))


def user(store: Store, name: str) -> User | None:
    """The user of a wallet's name or an e-mail address in lower case. One read."""
    return store.get(User, User.KEY.of(name_hash=name_hash(name)))


def users(store: Store, names: Iterable[str]) -> list[User]:
    """Those of the users that exist. One read."""
    return list(store.get_many({User.KEY.of(name_hash=name_hash(name)): User for name in names}).values())


def credential(store: Store, text: str) -> Credential | None:
    """The record of a credential of any kind, by the credential itself. One read."""
    digest = credential_hash(text)
    found = store.get_many({kind.KEY.of(credential_hash=digest): kind for kind in CREDENTIALS})
    return next(iter(found.values()), None)


def own_client_id(store: Store, account_id: str, client_id: str) -> ClientId:
    """The account's client id of that text, in any status. One read.

    Raises NotFound for an unknown one and for another account's.
    """
    found = store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(client_id)))
    if found is None or found.account_id != account_id:
        raise NotFound("Client ID not found")
    return found


def pointer(store: Store, account_id: str, kind: type[T], record_id: str) -> CredentialPointer | None:
    """What leads to an account's credential. One read."""
    key = CredentialPointer.KEY.of(account_id=account_id, kind=kind.KIND, record_id=record_id)
    return store.get(CredentialPointer, key)


def pointers(store: Store, account_id: str, kind: type[T]) -> tuple[CredentialPointer, ...]:
    """What leads to the account's credentials of a kind, oldest first. One query."""
    return store.query(CredentialPointer, CredentialPointer.KEY.all(account_id=account_id, kind=kind.KIND))


def own_credential(store: Store, account_id: str, kind: type[T], record_id: str) -> T | None:
    """An account's credential by its public id. Two reads: the pointer under the account, and the record."""
    found = pointer(store, account_id, kind, record_id)
    return store.get(kind, kind.KEY.of(credential_hash=found.credential_hash)) if found else None


def own_credentials(store: Store, account_id: str, kind: type[T]) -> list[tuple[T, LastUse | None]]:
    """An account's credentials of a kind, oldest first, with their last use.

    One query, and two keys a credential in batches of 100.
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
    """When the credential of that public id was last used. One read."""
    return store.get(LastUse, LastUse.KEY.of(record_id=record_id))
