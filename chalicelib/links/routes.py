"""The operations that create a link, and look it up by a request id."""

from chalicelib.access.modes import CREDENTIALS, Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/secure-payments", "create_secure_payment",
        "Create a secure payment link",
        modes=CREDENTIALS,
        scope="secure_payments:write",
        status=201,
        errors=(400, 401, 403, 503),
    ),
    Operation(
        "GET", "/v2/secure-payments", "look_up_secure_payment",
        "The link that a request is paid through",
        modes=(Mode.SESSION,),
        errors=(400, 401, 404, 423),
    ),
)
