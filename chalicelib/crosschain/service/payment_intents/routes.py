"""The operations that accept the signature of a payment intent, and withdraw one."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/request/payment-intents/{intent_id}", "send_payment_intent",
        "Have a payment made that its payer has signed",
        description=(
            "Takes the signature of `paymentIntent`, which `/v2/request/{request_id}/pay` gives to credentials with "
            "`usesPaymentIntents`. The service takes the tokens and brings them to the request's network; until that "
            "has ended the request cannot be paid otherwise (423), and `execution` of the request says how far it is. "
            "A client ID that is sent alone needs `mayExecute`."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="requests:read",
        moves_money=True,
        executes=True,
        errors=(400, 401, 403, 404, 409, 423, 503),
    ),
    Operation(
        "DELETE", "/v2/request/payment-intents/{intent_id}", "withdraw_payment_intent",
        "Withdraw a payment that its payer has signed",
        description=(
            "For the owner of the request, as long as none of the payer's tokens were taken: the request can be paid "
            "again, and the signature has no effect any more. `payment.failed` tells it. Once the tokens are being "
            "taken it is refused (409)."
        ),
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="requests:write",
        errors=(401, 403, 404, 409),
    ),
)
