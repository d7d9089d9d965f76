"""The operation that finds payments."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation, ProblemForm

OPERATIONS = (
    Operation(
        "GET", "/v2/payments", "find_payments", CREDENTIALS, scope="requests:read", problem_form=ProblemForm.SUMMARY,
    ),
)
