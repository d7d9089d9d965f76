"""The operations that create a link, and look it up by a request id."""

from chalicelib.access.modes import CREDENTIALS, Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments", "create_secure_payment",
        "Create a secure payment link",
        description=(
            "One entry in `requests` makes a single link, several a batch that one transaction pays on one EVM "
            "network. An entry names a `destinationId`, or `payee` with both currencies; with neither it is paid to "
            "the destination that the client id is bound to. An amount in another currency than its payment is "
            "converted when it is paid. Send an `Idempotency-Key` to be able to repeat the call."
        ),
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403, 503),
    ),
    Operation(
        "GET", "/v2/secure-payments", "look_up_secure_payment",
        "The link that a request is paid through",
        description=(
            "Finds the link of one of the account's requests, for a dashboard that has only the id of a request."
        ),
        modes=(Mode.SESSION,),
        errors=(400, 401, 404, 423),
    ),
)
