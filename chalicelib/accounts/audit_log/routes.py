"""The operation that lists an account's audit entries."""

from chalicelib.access.modes import Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v1/audit", "read_audit",
        "Who did what, newest first",
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="audit:read",
        errors=(400, 401, 403),
    ),
)
