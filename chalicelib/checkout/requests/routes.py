"""The operations of the payers of a request."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation, ProblemForm

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_READ = "requests:read"

OPERATIONS = (
    Operation(
        "GET", "/v2/request/{request_id}/pay", "pay_request", _CALLERS, scope=_READ, problem_form=ProblemForm.SUMMARY,
        moves_money=True,
    ),
    Operation("GET", "/v2/request/{request_id}/routes", "list_routes", _CALLERS, scope=_READ),
)
