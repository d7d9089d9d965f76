"""The operations that register, list, change and delete webhooks, on the auth host."""

from chalicelib.access.modes import Mode
from chalicelib.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v1/webhook", "create_webhook",
        "Register a webhook",
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        status=201,
        errors=(400, 401, 403, 404),
        shows_secret=True,
    ),
    Operation(
        "GET", "/v1/webhook", "list_webhooks",
        "List webhooks",
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:read",
        errors=(400, 401, 403, 404),
    ),
    Operation(
        "PUT", "/v1/webhook/{webhook_id}", "toggle_webhook",
        "Switch a webhook off or on, or choose its events",
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "DELETE", "/v1/webhook/{webhook_id}", "delete_webhook",
        "Delete a webhook for good",
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        errors=(400, 401, 403, 404, 409),
    ),
)
