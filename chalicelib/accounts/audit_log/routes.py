"""The operation that lists an account's audit entries."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "GET", "/v1/audit", "read_audit",
        "Who did what, newest first",
        description=(
            "Changes of credentials, webhooks, payee destinations and sessions, by whom and from which address. Go on "
            "with `cursor` until `nextCursor` is null."
        ),
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="audit:read",
        errors=(400, 401, 403),
    ),
)
