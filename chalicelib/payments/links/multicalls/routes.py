"""The operations that create and read a payout multicall."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/multicall-payouts", "create_multicall_payout",
        "Combine payout links, to be paid together",
        description=(
            "The payouts keep their links; the multicall is paid with one signature after their approvals. 400 lists "
            "every payout that cannot be paid with the others, and why."
        ),
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403),
    ),
    Operation(
        "GET", "/v2/secure-payments/multicall-payouts/{token}", "read_multicall_payout",
        "Read a multicall: its children, what blocks them, and totals",
        description="Also says which children cannot be paid now, and what to do about each.",
        modes=(Mode.SESSION,),
        errors=(401, 403, 404, 423),
        looks_up_token=True,
    ),
)
