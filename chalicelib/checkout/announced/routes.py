"""The operations that announce and withdraw transactions of a link."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/{token}/intent", "record_intent",
        "Announce a transaction that pays a link",
        description=(
            "Tells the service about a Safe transaction that waits for signatures (`safeTxHash`), or about one that a "
            "wallet has sent (`txHash`). The link is locked (423) until it is confirmed, fails, is dropped or "
            "replaced, or its deadline passes."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:write",
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "DELETE", "/v2/secure-payments/{token}/intent", "withdraw_intent",
        "Withdraw the transactions that a link waits for",
        description=(
            "For transactions that will not be executed: the link can be paid again. If one is executed nevertheless, "
            "its payment counts."
        ),
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="secure_payments:write",
        errors=(401, 403, 404, 409),
        looks_up_token=True,
    ),
)
