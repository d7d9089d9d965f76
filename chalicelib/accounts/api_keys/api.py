"""API keys of an account, managed by whoever is signed in to it: a key cannot make or change keys."""

from chalice import Blueprint

from chalicelib.access.credentials.records import ApiKey
from chalicelib.access.modes import Mode
from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.api_keys.schemas import (
    ApiKeyAnswer,
    ApiKeyCreated,
    ApiKeyRevoked,
    ApiKeyUsed,
    CreateApiKey,
    UpdateApiKey,
)
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.http.schemas import iso_or_none

blueprint = Blueprint(__name__)
_MODES = (Mode.SESSION,)


@operation(
    blueprint,
    "POST",
    "/v1/api-keys",
    summary="Make an API key",
    modes=_MODES,
    body=CreateApiKey,
    answer=ApiKeyCreated,
    status=201,
    errors=(400, 401, 403),
    shows_secret=True,
)
def create_api_key(call: Call) -> ApiKeyCreated:
    key, text = api_keys.create_api_key(call.services, call.actor, call.body.settings())
    return ApiKeyCreated.of(key, key=text)


@operation(
    blueprint,
    "GET",
    "/v1/api-keys",
    summary="List API keys",
    modes=_MODES,
    answer=list[ApiKeyUsed],
    errors=(401, 403),
)
def list_api_keys(call: Call) -> list[ApiKeyUsed]:
    keys = credentials.list_own(call.services, call.caller.account_id, ApiKey)
    return [ApiKeyUsed.of(key, lastUsedAt=iso_or_none(used)) for key, used in keys]


@operation(
    blueprint,
    "GET",
    "/v1/api-keys/{key_id}",
    summary="Read an API key's settings",
    modes=_MODES,
    answer=ApiKeyUsed,
    errors=(401, 403, 404),
)
def read_api_key(call: Call) -> ApiKeyUsed:
    key, used = credentials.read(call.services, call.caller.account_id, ApiKey, call.path["key_id"])
    return ApiKeyUsed.of(key, lastUsedAt=iso_or_none(used))


@operation(
    blueprint,
    "PUT",
    "/v1/api-keys/{key_id}",
    summary="Change an API key; without a body, switch it off or on",
    modes=_MODES,
    body=UpdateApiKey,
    optional_body=True,
    answer=ApiKeyAnswer,
    errors=(400, 401, 403, 404, 409),
)
def update_api_key(call: Call) -> ApiKeyAnswer:
    settings = call.body.settings() if call.body else None
    key = api_keys.change_api_key(call.services, call.actor, call.path["key_id"], settings)
    return ApiKeyAnswer.of(key)


@operation(
    blueprint,
    "DELETE",
    "/v1/api-keys/{key_id}",
    summary="Revoke an API key for good",
    modes=_MODES,
    answer=ApiKeyRevoked,
    errors=(401, 403, 404, 409),
)
def revoke_api_key(call: Call) -> ApiKeyRevoked:
    key_id = call.path["key_id"]
    api_keys.revoke_api_key(call.services, call.actor, key_id)
    return ApiKeyRevoked(id=key_id, revoked=True)
