"""The operation that accepts what was paid of a request as full payment."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/request/{request_id}/accept", "accept_request",
        (Mode.ORCHESTRATOR, Mode.API_KEY, Mode.SESSION), scope="requests:write",
    ),
)
