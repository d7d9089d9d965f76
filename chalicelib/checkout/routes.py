"""The operations of payers: read a link, and get the transactions that pay it."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_READ = "secure_payments:read"

OPERATIONS = (
    Operation(
        "GET", "/v2/secure-payments/{token}", "read_secure_payment", _CALLERS, scope=_READ, looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "GET", "/v2/secure-payments/{token}/pay", "pay_secure_payment", _CALLERS, scope=_READ, moves_money=True,
        looks_up_token=True, by_page=True,
    ),
    Operation(
        "GET", "/v2/secure-payments/{token}/reclaim", "reclaim_secure_payment", _CALLERS, scope=_READ,
        looks_up_token=True, by_page=True,
    ),
    Operation(
        "POST", "/v2/secure-payments/{token}/refresh-step-transaction", "refresh_step_transaction", _CALLERS,
        scope=_READ, moves_money=True, is_repeatable=True, looks_up_token=True,
    ),
)
