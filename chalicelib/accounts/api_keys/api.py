"""Views of API keys, for sessions only: an API key cannot create or change keys."""

from chalicelib.accounts.api_keys import flows
from chalicelib.accounts.api_keys.schemas import (
    ApiKeyAnswer,
    ApiKeyCreated,
    ApiKeyRevoked,
    ApiKeyUsed,
    CreateApiKey,
    UpdateApiKey,
)
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.platform.access.credentials.records import ApiKey
from chalicelib.platform.http.schemas import iso_or_none
from chalicelib.platform.http.view import Call


def create_api_key(call: Call[CreateApiKey, None]) -> ApiKeyCreated:
    key, text = flows.create_api_key(call.services, call.actor, call.body.settings(), call.source)
    return ApiKeyCreated.of(key, key=text)


def list_api_keys(call: Call[None, None]) -> list[ApiKeyUsed]:
    keys = credentials.list_own(call.services, call.caller.account_id, ApiKey)
    return [ApiKeyUsed.of(key, lastUsedAt=iso_or_none(used)) for key, used in keys]


def read_api_key(call: Call[None, None]) -> ApiKeyUsed:
    key, used = credentials.read(call.services, call.caller.account_id, ApiKey, call.path["key_id"])
    return ApiKeyUsed.of(key, lastUsedAt=iso_or_none(used))


def update_api_key(call: Call[UpdateApiKey | None, None]) -> ApiKeyAnswer:
    settings = call.body.settings() if call.body else None
    key = flows.change_api_key(call.services, call.actor, call.path["key_id"], settings)
    return ApiKeyAnswer.of(key)


def revoke_api_key(call: Call[None, None]) -> ApiKeyRevoked:
    key_id = call.path["key_id"]
    flows.revoke_api_key(call.services, call.actor, key_id)
    return ApiKeyRevoked(id=key_id, revoked=True)
