"""The operation that finds payments."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation, ProblemForm

OPERATIONS = (
    Operation(
        "GET", "/v2/payments", "find_payments",
        "Find payments, newest first, as JSON or CSV",
        description=(
            "A payment matches all filters that are given, of which at least one is needed beside dates. `total` is "
            "exact. Long lists are read by `cursor` with the `nextCursor` of the page before, which costs the same on "
            "every page. With `Accept: text/csv` each response is a part of a table of one row a payment: the header "
            "`Link` names the next part. A client ID alone finds the payments of its own requests, without the data of "
            "customers."
        ),
        problem_form=ProblemForm.SUMMARY,
        modes=CREDENTIALS,
        scope="requests:read",
        errors=(400, 401, 403),
    ),
)
