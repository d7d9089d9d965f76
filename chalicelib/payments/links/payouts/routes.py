"""The operations that create a payout and merge payouts into a batch."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

_WRITE = "payouts:write"

OPERATIONS = (
    Operation("POST", "/v2/secure-payments/payouts", "create_payout", CREDENTIALS, scope=_WRITE, status=201),
    Operation("POST", "/v2/secure-payments/batch-payouts", "batch_payouts", CREDENTIALS, scope=_WRITE, status=201),
)
