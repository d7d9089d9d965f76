"""The operations that list currencies and conversion routes."""

from chalicelib.access.modes import Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v2/currencies", "list_currencies",
        "List tokens, or find one",
        modes=(Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID),
        errors=(400, 401, 403, 404),
        lists_problems=True,
    ),
    Operation(
        "GET", "/v2/currencies/{currency_id}/conversion-routes", "list_conversion_routes",
        "List what an invoice currency can be paid in",
        modes=(Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID),
        errors=(400, 401, 403, 404),
    ),
)
