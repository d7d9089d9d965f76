"""The operations that accept the signature of a payment intent, and withdraw one."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

ROUTES = {
    "service.payment_intents.api": (
        Operation(
            "POST", "/v2/request/payment-intents/{intent_id}", "send_payment_intent",
            (Mode.API_KEY, Mode.CLIENT_ID), scope="requests:read", moves_money=True, executes=True,
        ),
        Operation(
            "DELETE", "/v2/request/payment-intents/{intent_id}", "withdraw_payment_intent",
            (Mode.API_KEY, Mode.SESSION), scope="requests:write",
        ),
    ),
}
