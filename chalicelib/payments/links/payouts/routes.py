"""The operations that create a payout and merge payouts into a batch."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/payouts", "create_payout",
        "Create a payout link",
        description=(
            "A link that its creator pays to one recipient. Only the wallet `creatorWalletAddress` gets its calldata."
        ),
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403, 503),
    ),
    Operation(
        "POST", "/v2/secure-payments/batch-payouts", "batch_payouts",
        "Merge payouts into a batch, which one transaction pays",
        description=(
            "Replaces the payouts, which are invalidated, by one link. They must be pending, on one EVM network, of "
            "one creator, client id and fee."
        ),
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403),
    ),
)
