"""The operations that announce and withdraw a multisig transaction of a link."""

from chalicelib.access.modes import Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments/{token}/intent", "record_intent",
        "Announce a multisig transaction that pays a link; nobody else may pay it meanwhile",
        description=(
            "Tells the service about a Safe transaction that is waiting for signatures. The link is locked (423) "
            "until it is executed, fails, or its deadline passes."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID),
        scope="secure_payments:write",
        errors=(400, 401, 403, 404, 409, 423, 503),
        looks_up_token=True,
        by_page=True,
    ),
    Operation(
        "DELETE", "/v2/secure-payments/{token}/intent", "withdraw_intent",
        "Withdraw the multisig transaction that a link waits for; anybody may pay the link again",
        description=(
            "For a Safe transaction that will not be executed. If it is executed nevertheless, the payment counts."
        ),
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="secure_payments:write",
        errors=(401, 403, 404, 409),
        looks_up_token=True,
    ),
)
