"""The operation that says what is at the address of a request for plain transfers, and what pays it out."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/request/{request_id}/plain-transfer", "read_plain_transfer", (Mode.API_KEY, Mode.CLIENT_ID),
        scope="requests:read", moves_money=True,
    ),
)
