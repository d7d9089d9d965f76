"""The operations of payers: read a link, and get the transactions that pay it."""

from chalicelib.access.modes import Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/secure-payments/{token}", "read_secure_payment",
        "Read a link; with `wallet`, what the wallet holds",
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:read",
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "GET", "/v2/secure-payments/{token}/pay", "pay_secure_payment",
        "The transactions that pay a link",
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:read",
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        by_page=True,
    ),
)
