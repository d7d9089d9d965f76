"""The operations that list requests, and read the status of one."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation

_DESCRIPTION = (
    "`request_id` is the id of the request or its payment reference. Amounts are decimal texts in the invoice currency "
    "where the field says nothing else. What is in US dollars, and each rate, is null or absent where it is not known."
)

_LIST = Operation(
    "GET", "/v2/request", "list_requests",
    "List requests, newest first",
    description=(
        "The account's requests, by themselves or in links, that match all filters. Go on with `cursor` until "
        "`nextCursor` is null. `total` is exact without `walletAddress` and `reference`; with one of them it counts up "
        "to a few thousand requests, and beyond there are at least so many. `offset` reaches a few thousand requests "
        "of a wallet, a reference or one day. With a client ID alone, which is public, only its own requests without "
        "a link are shown."
    ),
    modes=CREDENTIALS,
    scope="requests:read",
    errors=(400, 401, 403),
)
OPERATIONS = (_LIST, *(
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
))
