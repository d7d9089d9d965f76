"""The operations that list currencies and conversion routes."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation, ProblemForm

_CALLERS = (Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID)

OPERATIONS = (
    Operation("GET", "/v2/currencies", "list_currencies", _CALLERS, problem_form=ProblemForm.LIST),
    Operation("GET", "/v2/currencies/{currency_id}/conversion-routes", "list_conversion_routes", _CALLERS),
)
