"""The operations of webhooks and of their deliveries, on the auth host, and the public keys of their signatures."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation, ProblemForm

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
_SECRETS = (Mode.API_KEY, Mode.SESSION)

ROUTES = {
    "endpoints.api": (
        Operation(
            "POST", "/v1/webhook", "create_webhook", _CALLERS, scope="webhooks:write", status=201, shows_secret=True,
            needs_presence=True, redirects=True,
        ),
        Operation("GET", "/v1/webhook", "list_webhooks", _CALLERS, scope="webhooks:read"),
        Operation(
            "PUT", "/v1/webhook/{webhook_id}", "toggle_webhook", _CALLERS, scope="webhooks:write", needs_presence=True,
            redirects=True,
        ),
        Operation(
            "POST", "/v1/webhook/{webhook_id}/secret", "rotate_webhook_secret",
            _SECRETS,  # whoever has a client id alone could have deliveries refused unseen
            scope="webhooks:write", shows_secret=True, needs_presence=True, redirects=True,
        ),
        Operation("DELETE", "/v1/webhook/{webhook_id}", "delete_webhook", _CALLERS, scope="webhooks:write"),
    ),
    "signature_keys.api": (
        Operation("GET", "/.well-known/jwks.json", "list_signature_keys", (Mode.PUBLIC,)),
    ),
    "events.api": (
        Operation("GET", "/v1/webhook/events", "list_events", _SECRETS, scope="webhooks:read"),
        Operation("GET", "/v2/events", "list_next_events", _SECRETS, scope="webhooks:read"),
    ),
    "deliveries.api": (
        Operation(
            "GET", "/v1/webhook/events/{event_id}/deliveries", "list_deliveries_of_event", _SECRETS,
            scope="webhooks:read",
        ),
        Operation(
            "POST", "/v1/webhook/test", "test_webhook", _CALLERS, scope="webhooks:write", status=201,
            rate=Rate.WEBHOOK_TEST, problem_form=ProblemForm.LIST,
        ),
        Operation("GET", "/v1/webhook/{webhook_id}/deliveries", "list_deliveries", _CALLERS, scope="webhooks:read"),
        Operation(
            "POST", "/v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver", "redeliver", _CALLERS,
            scope="webhooks:write", status=202,
        ),
        Operation(
            "POST", "/v1/webhook/{webhook_id}/redeliver", "redeliver_failed", _CALLERS, scope="webhooks:write",
            status=202,
        ),
    ),
}
