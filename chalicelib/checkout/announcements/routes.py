"""The operations that announce and withdraw transactions of a link."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_WRITE = "secure_payments:write"

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/{token}/intent", "record_intent", (Mode.API_KEY, Mode.CLIENT_ID), scope=_WRITE,
        looks_up_token=True, by_page=True,
    ),
    Operation(
        "DELETE", "/v2/secure-payments/{token}/intent", "withdraw_intent", (Mode.API_KEY, Mode.SESSION), scope=_WRITE,
        looks_up_token=True,
    ),
)
