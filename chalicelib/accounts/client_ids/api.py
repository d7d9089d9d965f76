"""Client ids: one set of operations, routed on the API host for API keys and on the auth host for sessions."""

from dataclasses import dataclass

from chalice import Blueprint

from chalicelib.access.credentials.records import ClientId
from chalicelib.access.modes import Mode
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.client_ids import schemas
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call

blueprint = Blueprint(__name__)


@dataclass(frozen=True)
class Host:
    """Where the operations are routed, for whom, and what differs there."""

    path: str
    mode: Mode
    suffix: str
    create: type[schemas.CreateClientId]
    update: type[schemas.UpdateClientId]
    created: type[schemas.ClientIdCreated]
    updated: type[schemas.ClientIdUpdated]
    answer: type[schemas.ClientIdAnswer]


API_HOST = Host(
    "/v2/client-ids",
    Mode.API_KEY,
    "",
    schemas.CreateClientId,
    schemas.UpdateClientId,
    schemas.ClientIdCreated,
    schemas.ClientIdUpdated,
    schemas.ClientIdAnswer,
)
AUTH_HOST = Host(
    "/v1/client-ids",
    Mode.SESSION,
    "_by_session",
    schemas.CreateOwnClientId,
    schemas.UpdateOwnClientId,
    schemas.OwnClientIdCreated,
    schemas.OwnClientIdUpdated,
    schemas.OwnClientIdAnswer,
)


def _register(host: Host) -> None:
    modes, one = (host.mode,), host.path + "/{id}"
    reads, writes = "client_ids:read", "client_ids:write"

    @operation(
        blueprint,
        "POST",
        host.path,
        name=f"create_client_id{host.suffix}",
        summary="Make a client id",
        modes=modes,
        scope=writes,
        body=host.create,
        answer=host.created,
        status=201,
        errors=(400, 401, 403),
    )
    def create_client_id(call: Call) -> schemas.ClientIdCreated:
        return host.created.of(client_ids.create_client_id(call.services, call.actor, call.body.settings()))

    @operation(
        blueprint,
        "GET",
        host.path,
        name=f"list_client_ids{host.suffix}",
        summary="List client ids",
        modes=modes,
        scope=reads,
        answer=list[schemas.ClientIdListed],
        errors=(401, 403),
    )
    def list_client_ids(call: Call) -> list[schemas.ClientIdListed]:
        clients = credentials.list_own(call.services, call.caller.account_id, ClientId)
        return [schemas.ClientIdListed.of(client, used) for client, used in clients]

    @operation(
        blueprint,
        "GET",
        one,
        name=f"read_client_id{host.suffix}",
        summary="Read a client id's settings",
        modes=modes,
        scope=reads,
        answer=host.answer,
        errors=(401, 403, 404),
    )
    def read_client_id(call: Call) -> schemas.ClientIdAnswer:
        return host.answer.of(*credentials.read(call.services, call.caller.account_id, ClientId, call.path["id"]))

    @operation(
        blueprint,
        "PUT",
        one,
        name=f"update_client_id{host.suffix}",
        summary="Change a client id; null unsets a setting",
        modes=modes,
        scope=writes,
        body=host.update,
        answer=host.updated,
        errors=(400, 401, 403, 404, 409),
    )
    def update_client_id(call: Call) -> schemas.ClientIdUpdated:
        settings = call.body.settings()
        return host.updated.of(client_ids.change_client_id(call.services, call.actor, call.path["id"], settings))

    @operation(
        blueprint,
        "DELETE",
        one,
        name=f"revoke_client_id{host.suffix}",
        summary="Revoke a client id for good",
        modes=modes,
        scope=writes,
        answer=host.updated,
        errors=(401, 403, 404, 409),
    )
    def revoke_client_id(call: Call) -> schemas.ClientIdUpdated:
        return host.updated.of(client_ids.revoke_client_id(call.services, call.actor, call.path["id"]))


for _host in (API_HOST, AUTH_HOST):
    _register(_host)
