"""The operations of recurring payouts; POST /v2/payouts creates them."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation

_WRITE = "payouts:write"

ROUTES = {
    "api": (
        Operation(
            "POST", "/v2/payouts/recurring/{recurring_id}", "activate_recurring", CREDENTIALS, scope=_WRITE, status=201,
            moves_money=True, executes=True,
        ),
        Operation(
            "GET", "/v2/payouts/recurring", "list_recurring", (Mode.API_KEY, Mode.SESSION), scope="payouts:read"
        ),
        Operation("GET", "/v2/payouts/recurring/{recurring_id}", "get_recurring", CREDENTIALS, scope="payouts:read"),
        Operation(
            "GET", "/v2/payouts/recurring/{recurring_id}/permit", "read_permit", (Mode.API_KEY, Mode.SESSION),
            scope="payouts:read", moves_money=True,
        ),
        Operation("PATCH", "/v2/payouts/recurring/{recurring_id}", "change_recurring", CREDENTIALS, scope=_WRITE),
    ),
}
