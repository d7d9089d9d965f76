"""The operations that create and read a payout multicall."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/multicall-payouts", "create_multicall_payout", CREDENTIALS,
        scope="payouts:write", status=201,
    ),
    Operation(
        "GET", "/v2/secure-payments/multicall-payouts/{token}", "read_multicall_payout", (Mode.SESSION,),
        scope="payouts:read", looks_up_token=True,
    ),
)
