"""The operations that cancel a link or a request."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_OWNERS = (Mode.ORCHESTRATOR, Mode.API_KEY, Mode.SESSION)

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/{token}/cancel", "cancel_secure_payment", _OWNERS, scope="secure_payments:write",
        looks_up_token=True,
    ),
    Operation("POST", "/v2/request/{request_id}/cancel", "cancel_request", _OWNERS, scope="requests:write"),
)
