"""The operations of API keys, for sessions only: an API key cannot create or change keys."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v1/api-keys", "create_api_key",
        "Make an API key",
        description=(
            "The response has the key, which cannot be read again. Without `scopes` it may do everything in the "
            "account."
        ),
        modes=(Mode.SESSION,),
        status=201,
        errors=(400, 401, 403),
        shows_secret=True,
    ),
    Operation(
        "GET", "/v1/api-keys", "list_api_keys",
        "List API keys",
        description="Revoked ones are left out.",
        modes=(Mode.SESSION,),
        errors=(401, 403),
    ),
    Operation(
        "GET", "/v1/api-keys/{key_id}", "read_api_key",
        "Read an API key's settings",
        description="With the time when it was last used; never with the key itself.",
        modes=(Mode.SESSION,),
        errors=(401, 403, 404),
    ),
    Operation(
        "PUT", "/v1/api-keys/{key_id}", "update_api_key",
        "Change an API key; without a body, switch it off or on",
        description="Fields that are left out do not change. Without a body the key is switched off, or on again.",
        modes=(Mode.SESSION,),
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "DELETE", "/v1/api-keys/{key_id}", "revoke_api_key",
        "Revoke an API key permanently",
        description="Calls with it get 401 from now on.",
        modes=(Mode.SESSION,),
        errors=(401, 403, 404, 409),
    ),
)
