"""The operations on which e-mails about payments an account wants."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_SESSION = (Mode.SESSION,)

OPERATIONS = (
    Operation("GET", "/v1/notifications", "read_notifications", _SESSION, scope="account:read"),
    Operation(
        "PUT", "/v1/notifications", "choose_notifications", _SESSION, scope="account:write", is_repeatable=True
    ),
)
