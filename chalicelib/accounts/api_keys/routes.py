"""The operations of API keys, for sessions only: an API key cannot create or change keys."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_SESSION = (Mode.SESSION,)
_READ, _WRITE = "api_keys:read", "api_keys:write"

OPERATIONS = (
    Operation(
        "POST", "/v1/api-keys", "create_api_key", _SESSION,
        scope=_WRITE, status=201, shows_secret=True, needs_presence=True, redirects=True,
    ),
    Operation("GET", "/v1/api-keys", "list_api_keys", _SESSION, scope=_READ),
    Operation("GET", "/v1/api-keys/{key_id}", "read_api_key", _SESSION, scope=_READ),
    Operation(
        "PUT", "/v1/api-keys/{key_id}", "update_api_key", _SESSION, scope=_WRITE, needs_presence=True, redirects=True
    ),
    Operation("DELETE", "/v1/api-keys/{key_id}", "revoke_api_key", _SESSION, scope=_WRITE),
)
