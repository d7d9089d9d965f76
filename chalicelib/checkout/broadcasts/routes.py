"""The operation that sends a signed Tron transaction."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/{token}/tron/broadcast", "broadcast_transaction",
        "Send a signed transaction that pays a link on Tron",
        description=(
            "For wallets that sign and do not send. The transaction has to be one of those that `/pay` returned. "
            "Sending the same bytes again is safe, as the network executes them once."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:write",
        moves_money=True,
        errors=(400, 401, 403, 404, 409, 423, 502, 503),
        looks_up_token=True,
        by_page=True,
    ),
)
