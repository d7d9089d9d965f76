"""The operations that list the transfers of a link and of a request."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/secure-payments/{token}/transfers", "list_transfers",
        "Every transfer with a reference of the link, and refunds of what was not owed",
        description=(
            "Lists what was paid too much, late, in another token or to somebody else, too. Where a refund is due, "
            "`refund` has the transactions that the payee signs."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="secure_payments:read",
        errors=(400, 401, 403, 404, 423),
        looks_up_token=True,
    ),
    Operation(
        "GET", "/v2/request/{request_id}/transfers", "list_transfers_of_request",
        "Every transfer with the reference of a request, and refunds of what was not owed",
        description=(
            "As the list of a link, for one request, with or without a link; `request_id` may also be its payment "
            "reference. A request without a link does not expire, so nothing is late."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="requests:read",
        errors=(401, 403, 404, 423),
    ),
    Operation(
        "POST", "/v2/request/{request_id}/refund", "refund_request",
        "What the payee signs to refund a request, in full or in part",
        description=(
            "Answers with transactions that return `amount`, or all that is left, to who has paid, with a reference by "
            "which the refund is found: payment.refunded tells of it once it is confirmed. Nothing is moved before "
            "they are signed and sent, and the same call has the same answer until then: send them once. `request_id` "
            "is its id or its payment reference, alone or in a link."
        ),
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="requests:write",
        errors=(400, 401, 403, 404, 409, 503),
        moves_money=True,
    ),
)
