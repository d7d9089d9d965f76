"""Views of client ids: for API keys on the API host, and for sessions on the auth host.

Only the bodies differ: the auth host makes client ids without domains, too.
"""

from chalicelib.accounts.client_ids import flows
from chalicelib.accounts.client_ids.schemas import (
    ClientIdAnswer,
    ClientIdCreated,
    ClientIdListed,
    ClientIdUpdated,
    CreateClientId,
    CreateOwnClientId,
    UpdateClientId,
    UpdateOwnClientId,
)
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.http.view import Call


def create_client_id(call: Call[CreateClientId, None]) -> ClientIdCreated:
    return ClientIdCreated.of(flows.create_client_id(call.services, call.actor, call.body.settings()))


def create_client_id_by_session(call: Call[CreateOwnClientId, None]) -> ClientIdCreated:
    return create_client_id(call)


def list_client_ids(call: Call[None, None]) -> list[ClientIdListed]:
    clients = credentials.list_own(call.services, call.caller.account_id, ClientId)
    return [ClientIdListed.of(client, used) for client, used in clients]


def read_client_id(call: Call[None, None]) -> ClientIdAnswer:
    return ClientIdAnswer.of(*credentials.read(call.services, call.caller.account_id, ClientId, call.path["id"]))


def update_client_id(call: Call[UpdateClientId, None]) -> ClientIdUpdated:
    settings = call.body.settings()
    return ClientIdUpdated.of(flows.change_client_id(call.services, call.actor, call.path["id"], settings))


def update_client_id_by_session(call: Call[UpdateOwnClientId, None]) -> ClientIdUpdated:
    return update_client_id(call)


def revoke_client_id(call: Call[None, None]) -> ClientIdUpdated:
    return ClientIdUpdated.of(flows.revoke_client_id(call.services, call.actor, call.path["id"]))


list_client_ids_by_session = list_client_ids
read_client_id_by_session = read_client_id
revoke_client_id_by_session = revoke_client_id
