"""The operation that reads archived requests."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/archive/requests", "list_archived_requests", (Mode.API_KEY, Mode.SESSION), scope="requests:read",
    ),
)
