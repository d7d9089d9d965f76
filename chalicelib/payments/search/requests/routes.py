"""The operations that list requests, and read the status of one."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

_READ = "requests:read"

OPERATIONS = (
    Operation("GET", "/v2/request", "list_requests", CREDENTIALS, scope=_READ),
    Operation("GET", "/v2/request/{request_id}", "read_request", CREDENTIALS, scope=_READ),
    Operation("GET", "/v2/request/{request_id}/status", "read_request_status", CREDENTIALS, scope=_READ),
)
