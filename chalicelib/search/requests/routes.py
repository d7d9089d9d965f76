"""The operation that reads the status of a request."""

from chalicelib.access.modes import CREDENTIALS
from chalicelib.http.operation import Operation

_DESCRIPTION = (
    "`request_id` is the id of the request or its payment reference. Amounts are decimal texts in the invoice currency "
    "where the field says nothing else. What is in US dollars, and each rate, is null or absent where it is not known."
)

OPERATIONS = tuple(
    Operation(
        "GET", path, name,
        summary,
        description=_DESCRIPTION,
        modes=CREDENTIALS,
        scope="requests:read",
        errors=(401, 403, 404),
    )
    for path, name, summary in (
        ("/v2/request/{request_id}", "read_request", "The status of a request, with its payments"),
        ("/v2/request/{request_id}/status", "read_request_status", "The same as GET /v2/request/{request_id}"),
    )
)
