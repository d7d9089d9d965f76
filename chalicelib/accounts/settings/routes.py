"""The operations of an account's settings, on the auth host."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_SESSION = (Mode.SESSION,)

OPERATIONS = (
    Operation("GET", "/v1/account", "read_account", _SESSION, scope="account:read"),
    Operation(
        "PUT", "/v1/account", "change_account", _SESSION, scope="account:write", needs_presence=True, redirects=True
    ),
)
