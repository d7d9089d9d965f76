"""The operations that register, list, change and delete webhooks, on the auth host."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
_WRITE = "webhooks:write"

OPERATIONS = (
    Operation(
        "POST", "/v1/webhook", "create_webhook", _CALLERS,
        scope=_WRITE, status=201, shows_secret=True, needs_presence=True, redirects=True,
    ),
    Operation("GET", "/v1/webhook", "list_webhooks", _CALLERS, scope="webhooks:read"),
    Operation(
        "PUT", "/v1/webhook/{webhook_id}", "toggle_webhook", _CALLERS, scope=_WRITE, needs_presence=True, redirects=True
    ),
    Operation(
        "POST", "/v1/webhook/{webhook_id}/secret", "rotate_webhook_secret",
        (Mode.API_KEY, Mode.SESSION),  # whoever has a client id alone could have deliveries refused unseen
        scope=_WRITE, shows_secret=True, needs_presence=True, redirects=True,
    ),
    Operation("DELETE", "/v1/webhook/{webhook_id}", "delete_webhook", _CALLERS, scope=_WRITE),
)
