"""The operations that register, list, change and delete webhooks, on the auth host."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v1/webhook", "create_webhook",
        "Register a webhook",
        description=(
            "The response has the signing secret, which cannot be read again. With an API key or a session alone the "
            "webhook receives the events of the whole account; in a session `clientId` names a client id. One that a "
            "client id alone registers, which is public, receives no personal data."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        status=201,
        errors=(400, 401, 403, 404),
        shows_secret=True,
    ),
    Operation(
        "GET", "/v1/webhook", "list_webhooks",
        "List webhooks",
        description=(
            "Those of the calling client id, or with an API key alone those of the account as a whole. In a session "
            "also those of all its client ids; `clientId` limits the list to one. A client id alone, which is public, "
            "finds only webhooks that a client id alone registered, here and in all other operations."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:read",
        errors=(400, 401, 403, 404),
    ),
    Operation(
        "PUT", "/v1/webhook/{webhook_id}", "toggle_webhook",
        "Switch a webhook off or on, or choose its events",
        description=(
            "Without a body, or with neither field, it is switched: on if it was off. A webhook that is off gets "
            "nothing, and its open deliveries fail. `events` are the kinds of events that it gets."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "DELETE", "/v1/webhook/{webhook_id}", "delete_webhook",
        "Delete a webhook for good",
        description="Its open deliveries fail. The URL can be registered again.",
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        errors=(400, 401, 403, 404, 409),
    ),
)
