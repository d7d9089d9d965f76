"""The operation that tells how far each network is read."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation("GET", "/v2/status", "show_status", (Mode.PUBLIC,)),
)
