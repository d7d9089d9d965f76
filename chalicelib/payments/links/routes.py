"""The operations that create a link, list links, and find one by a request id."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

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
        "List links, newest first, or find the link of a request",
        description=(
            "With `requestId` it finds the link of one of the account's requests, for a dashboard that has only the id "
            "of a request. Without, it lists the account's links by status, reference, client ID and dates; go on with "
            "`cursor` until `nextCursor` is null. A client ID alone, which is public, finds no links: 403."
        ),
        modes=CREDENTIALS,
        scope="secure_payments:read",
        errors=(400, 401, 403, 404, 423),
    ),
)
