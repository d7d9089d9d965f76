"""The operations that create and read a payout multicall."""

from chalicelib.access.modes import CREDENTIALS, Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/multicall-payouts", "create_multicall_payout",
        "Combine payout links, to be paid together",
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403),
    ),
    Operation(
        "GET", "/v2/secure-payments/multicall-payouts/{token}", "read_multicall_payout",
        "Read a multicall: its children, what blocks them, and totals",
        modes=(Mode.SESSION,),
        errors=(401, 403, 404, 423),
        looks_up_token=True,
    ),
)
