"""The operations that accept the signature of a gasless payment, and say how far it is."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_OF_LINK = "/v2/secure-payments/{token}/gasless/{payment_id}"
"""Whoever has the link may call these, as the payment page: flows.py says for which links the service pays gas."""

ROUTES = {
    "api": (
        Operation(
            "POST", "/v2/gasless-payments/{payment_id}", "send_gasless_payment", _CALLERS, scope="requests:read",
            moves_money=True, executes=True,
        ),
        Operation("GET", "/v2/gasless-payments/{payment_id}", "read_gasless_payment", _CALLERS, scope="requests:read"),
        Operation(
            "POST", _OF_LINK, "send_gasless_payment_of_link", _CALLERS, scope="secure_payments:read", moves_money=True,
            is_repeatable=True, looks_up_token=True, by_page=True,
        ),
        Operation(
            "GET", _OF_LINK, "read_gasless_payment_of_link", _CALLERS, scope="secure_payments:read",
            looks_up_token=True, by_page=True,
        ),
    ),
}
