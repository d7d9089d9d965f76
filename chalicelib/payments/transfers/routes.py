"""The operations that list the transfers of a link and of a request."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)

OPERATIONS = (
    Operation(
        "GET", "/v2/secure-payments/{token}/transfers", "list_transfers", _CALLERS, scope="secure_payments:read",
        looks_up_token=True,
    ),
    Operation(
        "GET", "/v2/request/{request_id}/transfers", "list_transfers_of_request", _CALLERS, scope="requests:read",
    ),
    Operation(
        "POST", "/v2/request/{request_id}/refund", "refund_request", (Mode.API_KEY, Mode.SESSION),
        scope="requests:write", moves_money=True,
    ),
)
