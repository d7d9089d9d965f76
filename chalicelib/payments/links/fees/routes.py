"""The operation that previews the fee of a payment."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/fees/preview", "preview_fees",
        "Preview the fees of a payment",
        description=(
            "The calling client id's fee on an amount in a dollar token; no fee without a client id. Nothing is stored."
        ),
        modes=CREDENTIALS,
        scope="secure_payments:read",
        errors=(400, 401, 403),
    ),
)
