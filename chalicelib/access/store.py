"""Reads the records of a credential and the caller's ban in one BatchGetItem."""

from typing import Any

from chalicelib.access.credentials.records import ApiKey, ClientId, OrchestratorKey
from chalicelib.access.modes import Mode
from chalicelib.access.rate_limits.records import Ban
from chalicelib.access.sessions.records import Session
from chalicelib.base.records import Key, Record
from chalicelib.storage.store import Store

_KINDS: dict[Mode, type[ApiKey] | type[ClientId] | type[OrchestratorKey]] = {
    Mode.ORCHESTRATOR: OrchestratorKey,
    Mode.ORCHESTRATOR_KEY: OrchestratorKey,
    Mode.API_KEY: ApiKey,
    Mode.CLIENT_ID: ClientId,
}


def records_of(
    store: Store, mode: Mode, secret_hash: str, client_id_hash: str | None, caller: str
) -> dict[type[Record], Any]:
    """The ban of a caller, the session or credential with a hash, and the client id sent with it, each by its class.

    What does not exist is left out. One read. Raises Throttled.
    """
    wanted: dict[Key, type[Record]] = {Ban.KEY.of(caller=caller): Ban}
    if mode is Mode.SESSION:
        wanted[Session.KEY.of(token_hash=secret_hash)] = Session
    else:
        kind = _KINDS[mode]
        wanted[kind.KEY.of(credential_hash=secret_hash)] = kind
    if client_id_hash is not None:
        wanted[ClientId.KEY.of(credential_hash=client_id_hash)] = ClientId
    return {type(record): record for record in store.get_many(wanted).values()}
