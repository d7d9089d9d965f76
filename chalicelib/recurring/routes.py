"""The operations of recurring payouts; POST /v2/payouts creates them."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/payouts/recurring/{recurring_id}", "activate_recurring",
        "Activate a recurring payout",
        description=(
            "Takes the payer's signature of `recurringPaymentPermit`. From then on the service makes each payment when "
            "it is due, and each period has a request of its own. Webhooks tell of new requests, of confirmed "
            "payments, and when it is paused because a payment failed three times. A client ID that is sent alone "
            "needs `mayExecute`."
        ),
        modes=CREDENTIALS,
        scope="requests:write",
        status=201,
        moves_money=True,
        executes=True,
        errors=(400, 401, 403, 404, 503),
    ),
    Operation(
        "GET", "/v2/payouts/recurring/{recurring_id}", "get_recurring",
        "How far a recurring payout is",
        description="Its status, the requests of its periods so far, and their payments.",
        modes=CREDENTIALS,
        scope="requests:read",
        errors=(401, 403, 404),
    ),
    Operation(
        "PATCH", "/v2/payouts/recurring/{recurring_id}", "change_recurring",
        "Cancel a recurring payout, or resume a paused one",
        description=(
            "A cancelled one makes no more payments, except one that was sent before; `transactions` lower what the "
            "contract may take. A paused one that is resumed makes the payments that it missed, one after the other; a "
            "client ID that is sent alone needs `mayExecute` for that."
        ),
        modes=CREDENTIALS,
        scope="requests:write",
        errors=(400, 401, 403, 404),
    ),
)  # fmt: skip
