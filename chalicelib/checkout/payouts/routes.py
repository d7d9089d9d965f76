"""The operations that create payouts, and answer with the transactions that pay them."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

_WRITE = "payouts:write"

OPERATIONS = (
    Operation("POST", "/v2/payouts", "pay_out", CREDENTIALS, scope=_WRITE, status=201, moves_money=True),
    Operation(
        "POST", "/v2/pay", "pay_out_by_former_path", CREDENTIALS, scope=_WRITE, status=201, moves_money=True,
        former_path_of="/v2/payouts",
    ),
    Operation("POST", "/v2/payouts/batch", "pay_batch", CREDENTIALS, scope=_WRITE, status=201, moves_money=True),
)
