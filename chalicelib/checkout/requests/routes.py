"""The operations of the payers of a request."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation, ProblemForm

OPERATIONS = (
    Operation(
        "GET", "/v2/request/{request_id}/pay", "pay_request",
        "The transactions that pay a request",
        description=(
            "For a request by itself or of a link, found by its id or payment reference. Sign and send `transactions` "
            "in their order; `metadata.explanation` says what each does. `amount` pays a part. Facts of the wallet are "
            "there with `wallet` only. `metadata.conversion` says how an amount in another currency is converted. With "
            "`chain` and `token` the transactions pay from another chain; a credential with `usesPaymentIntents` gets "
            "a payment intent to sign instead."
        ),
        problem_form=ProblemForm.SUMMARY,
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="requests:read",
        moves_money=True,
        errors=(400, 401, 403, 404, 409, 423, 503),
    ),
    Operation(
        "GET", "/v2/request/{request_id}/routes", "list_routes",
        "The routes by which a request can be paid",
        description=(
            "The direct payment with its costs: the network's fee at the present price of gas, and the platform fee. "
            "Then up to four routes from other chains on which `wallet` has the tokens, as they are quoted now: pay by "
            "one with its `chain` and `token`. A request that cannot be paid now has no route."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="requests:read",
        errors=(400, 401, 403, 404, 503),
    ),
)
