"""The operations that create a request, and stop or resume its recurrence."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/request", "create_request",
        "Create a request",
        description=(
            "An amount in `invoiceCurrency`, paid in the token `paymentCurrency`. Where the two differ, the amount is "
            "converted at the time of payment; GET /v2/currencies/{currency_id}/conversion-routes lists what can be. "
            "Fees are named when it is paid. Send an `Idempotency-Key` to be able to repeat the call."
        ),
        modes=CREDENTIALS,
        scope="requests:write",
        status=201,
        errors=(400, 401, 403),
    ),
    Operation(
        "PATCH", "/v2/request/{request_id}", "update_request",
        "Stop or resume the recurrence of a request",
        description=(
            "`request_id` is its id or its payment reference. Only for a request that was created with a `recurrence`; "
            "it is kept and shown, nothing else."
        ),
        modes=CREDENTIALS,
        scope="requests:write",
        errors=(400, 401, 403, 404),
    ),
)
