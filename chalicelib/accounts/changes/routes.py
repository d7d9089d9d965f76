"""The operations of changes that wait, on the auth host, for people alone: an API key approves nothing."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_SESSION = (Mode.SESSION,)
_READ, _WRITE = "changes:read", "changes:write"
_CHANGE = "/v1/changes/{change_id}"

OPERATIONS = (
    Operation("GET", "/v1/changes", "list_changes", _SESSION, scope=_READ),
    Operation("GET", _CHANGE, "read_change", _SESSION, scope=_READ),
    Operation("POST", f"{_CHANGE}/approve", "approve_change", _SESSION, scope=_WRITE, needs_presence=True),
    Operation("POST", f"{_CHANGE}/refuse", "refuse_change", _SESSION, scope=_WRITE),
    Operation("POST", f"{_CHANGE}/withdraw", "withdraw_change", _SESSION, scope=_READ),
)
