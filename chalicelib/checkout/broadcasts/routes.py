"""The operation that sends a signed Tron transaction."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/{token}/tron/broadcast", "broadcast_transaction", (Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:write", moves_money=True, looks_up_token=True, by_page=True,
    ),
)
