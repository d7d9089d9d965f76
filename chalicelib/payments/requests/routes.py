"""The operations that create a request, and change its recurrence or its note."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

_WRITE = "requests:write"

OPERATIONS = (
    Operation("POST", "/v2/request", "create_request", CREDENTIALS, scope=_WRITE, status=201),
    Operation("PATCH", "/v2/request/{request_id}", "update_request", CREDENTIALS, scope=_WRITE),
)
