"""The operations that create a payout and merge payouts into a batch."""

from chalicelib.access.modes import CREDENTIALS
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/payouts", "create_payout",
        "Create a payout link",
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403, 503),
    ),
    Operation(
        "POST", "/v2/secure-payments/batch-payouts", "batch_payouts",
        "Merge payouts into a batch, which one transaction pays",
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403),
    ),
)
