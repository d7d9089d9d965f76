"""The operation that previews the fee of a payment."""

from chalicelib.access.modes import CREDENTIALS
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/fees/preview", "preview_fees",
        "The fee plan of a payment that is not made yet: the client id's fee on an amount in a dollar token",
        description="Uses the fee of the calling client id, and no fee without one. Nothing is stored.",
        modes=CREDENTIALS,
        scope="secure_payments:read",
        errors=(400, 401, 403),
    ),
)
