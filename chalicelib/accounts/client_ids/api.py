"""Views of client ids: for API keys on the API host, and for sessions, with the payee destination, on the auth host."""

from datetime import datetime

from chalicelib.access.credentials.records import ClientId
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.client_ids.schemas import (
    ClientIdAnswer,
    ClientIdCreated,
    ClientIdListed,
    ClientIdUpdated,
    CreateClientId,
    CreateOwnClientId,
    OwnClientIdAnswer,
    OwnClientIdCreated,
    OwnClientIdUpdated,
    UpdateClientId,
    UpdateOwnClientId,
)
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.http.view import AnyCall, Call


def create_client_id(call: Call[CreateClientId, None]) -> ClientIdCreated:
    return ClientIdCreated.of(_created(call))


def create_client_id_by_session(call: Call[CreateOwnClientId, None]) -> OwnClientIdCreated:
    return OwnClientIdCreated.of(_created(call))


def list_client_ids(call: Call[None, None]) -> list[ClientIdListed]:
    clients = credentials.list_own(call.services, call.caller.account_id, ClientId)
    return [ClientIdListed.of(client, used) for client, used in clients]


list_client_ids_by_session = list_client_ids


def read_client_id(call: Call[None, None]) -> ClientIdAnswer:
    return ClientIdAnswer.of(*_read(call))


def read_client_id_by_session(call: Call[None, None]) -> OwnClientIdAnswer:
    return OwnClientIdAnswer.of(*_read(call))


def update_client_id(call: Call[UpdateClientId, None]) -> ClientIdUpdated:
    return ClientIdUpdated.of(_updated(call))


def update_client_id_by_session(call: Call[UpdateOwnClientId, None]) -> OwnClientIdUpdated:
    return OwnClientIdUpdated.of(_updated(call))


def revoke_client_id(call: Call[None, None]) -> ClientIdUpdated:
    return ClientIdUpdated.of(_revoked(call))


def revoke_client_id_by_session(call: Call[None, None]) -> OwnClientIdUpdated:
    return OwnClientIdUpdated.of(_revoked(call))


def _created(call: Call[CreateClientId, None]) -> ClientId:
    return client_ids.create_client_id(call.services, call.actor, call.body.settings())


def _read(call: AnyCall) -> tuple[ClientId, datetime | None]:
    return credentials.read(call.services, call.caller.account_id, ClientId, call.path["id"])


def _updated(call: Call[UpdateClientId, None]) -> ClientId:
    return client_ids.change_client_id(call.services, call.actor, call.path["id"], call.body.settings())


def _revoked(call: AnyCall) -> ClientId:
    return client_ids.revoke_client_id(call.services, call.actor, call.path["id"])
