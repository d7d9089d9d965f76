"""The operation that lists an account's audit entries."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation("GET", "/v1/audit", "read_audit", (Mode.API_KEY, Mode.SESSION), scope="audit:read"),
)
