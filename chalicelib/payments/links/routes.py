"""The operations that create a link, change its expiry, list links, and find one by a request id."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments", "create_secure_payment", CREDENTIALS, scope="secure_payments:write", status=201,
    ),
    Operation(
        "PATCH", "/v2/secure-payments/{token}", "update_secure_payment",
        (Mode.ORCHESTRATOR, Mode.API_KEY, Mode.SESSION), scope="secure_payments:write", looks_up_token=True,
    ),
    Operation("GET", "/v2/secure-payments", "look_up_secure_payment", CREDENTIALS, scope="secure_payments:read"),
)
