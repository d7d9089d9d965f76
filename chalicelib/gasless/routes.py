"""The operations that accept the signature of a gasless payment, and say how far it is."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)

ROUTES = {
    "api": (
        Operation(
            "POST", "/v2/gasless-payments/{payment_id}", "send_gasless_payment", _CALLERS, scope="requests:read",
            moves_money=True, executes=True,
        ),
        Operation("GET", "/v2/gasless-payments/{payment_id}", "read_gasless_payment", _CALLERS, scope="requests:read"),
    ),
}
