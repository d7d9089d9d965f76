"""The operation that tells how far each network is read."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/status", "show_status",
        "How far each network is read, and whether payments there are seen",
        description=(
            "`isSeeingPayments` is false while a network cannot be read, so that payments there are reported late."
        ),
        modes=(Mode.PUBLIC,),
    ),
)
