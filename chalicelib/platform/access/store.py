"""Reads the records of a credential and the caller's ban in one BatchGetItem."""

from typing import Any

from chalicelib.base.records import Key, Record
from chalicelib.platform.access.callers import SentCredential
from chalicelib.platform.access.credentials.records import Account, ApiKey, ClientId, OrchestratorKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people.records import Membership, Person
from chalicelib.platform.access.rate_limits.records import Ban
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import parse_token
from chalicelib.platform.storage.store import Store

_KINDS: dict[Mode, type[ApiKey] | type[ClientId] | type[OrchestratorKey]] = {
    Mode.ORCHESTRATOR: OrchestratorKey,
    Mode.ORCHESTRATOR_KEY: OrchestratorKey,
    Mode.API_KEY: ApiKey,
    Mode.CLIENT_ID: ClientId,
}


def records_of(
    store: Store, sent: SentCredential, secret_hash: str, client_id_hash: str | None, caller: str
) -> dict[type[Record], Any]:
    """The ban of a caller, the credential with a hash, and the client id and key sent with it, each by its class.

    For a session these are the session, its account, its person and their membership of the account. What does not
    exist is left out. One read. Raises Throttled.
    """
    wanted: dict[Key, type[Record]] = {Ban.KEY.of(caller=caller): Ban}
    if sent.mode is Mode.SESSION:
        wanted[Session.KEY.of(token_hash=secret_hash)] = Session
        if (named := parse_token(sent.secret)) is not None:
            account_id, person_id = named
            wanted[Account.KEY.of(account_id=account_id)] = Account
            wanted[Membership.KEY.of(account_id=account_id, person_id=person_id)] = Membership
            wanted[Person.KEY.of(person_id=person_id)] = Person
    else:
        kind = _KINDS[sent.mode]
        wanted[kind.KEY.of(credential_hash=secret_hash)] = kind
    if client_id_hash is not None:
        wanted[ClientId.KEY.of(credential_hash=client_id_hash)] = ClientId
    if sent.beside_key is not None:
        wanted[ApiKey.KEY.of(credential_hash=credential_hash(sent.beside_key))] = ApiKey
    return {type(record): record for record in store.get_many(wanted).values()}


def request_of(store: Store, scope_hash: str) -> IdempotentRequest | None:
    """The request that is stored for an idempotency key. One read."""
    return store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash))
