"""The operations that list currencies and conversion routes."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation, ProblemForm

OPERATIONS = (
    Operation(
        "GET", "/v2/currencies", "list_currencies",
        "List tokens, or find one",
        description=(
            "Without filters: every token, native coin and fiat currency. With `id`, or with `firstOnly`, the "
            "response is one token and not a list. 404 if nothing matches."
        ),
        modes=(Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID),
        errors=(400, 401, 403, 404),
        problem_form=ProblemForm.LIST,
    ),
    Operation(
        "GET", "/v2/currencies/{currency_id}/conversion-routes", "list_conversion_routes",
        "List what an invoice currency can be paid in",
        description=(
            "What works with this deployment: a token is paid in itself; fiat currencies, and tokens with a price, are "
            "paid in the tokens whose rate is known. Each route names its way."
        ),
        modes=(Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID),
        errors=(400, 401, 403, 404),
    ),
)
