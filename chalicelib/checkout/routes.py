"""The operations of payers: read a link, and get the transactions that pay it."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/secure-payments/{token}", "read_secure_payment",
        "Read a link; with `wallet`, what the wallet holds",
        description=(
            "Never has calldata. With `wallet`, `paymentOptions` says what that wallet holds and needs. A link that "
            "cannot be paid answers 403, 409 or 423 with its `status`."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:read",
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "GET", "/v2/secure-payments/{token}/pay", "pay_secure_payment",
        "The transactions that pay a link",
        description=(
            "Sign and send `transactions` in their order; `metadata.explanation` says what each does. Without "
            "`wallet` balances are not read (`hasEnoughBalance` and `hasEnoughGas` are absent), and every approval is "
            "included. After part of a link was paid, the transactions pay the rest. With `chain` and `token` they pay "
            "from another chain, by a route that was verified: its first approval is always there."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:read",
        moves_money=True,
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "GET", "/v2/secure-payments/{token}/reclaim", "reclaim_secure_payment",
        "The transaction with which a payer takes back what is held",
        description=(
            "Of a commerce payment whose authorization has expired. `wallet`, which has paid, is needed and sends it; "
            "the merchant is not. It is answered while payments are stopped, too: it can only give the payer back what "
            "is theirs."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:read",
        errors=(400, 401, 403, 404, 409, 503),
        looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "POST", "/v2/secure-payments/{token}/refresh-step-transaction", "refresh_step_transaction",
        "The transactions of a route, quoted anew",
        description=(
            "Answers as `/pay` does for the link, source and wallets that `step` names: the same transactions while "
            "their quote is valid, else new ones. Send `metadata.rawStep` of `/pay` as `step`."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:read",
        moves_money=True,
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        is_repeatable=True,
    ),
)
