"""The operations of deliveries, on the auth host: tests, what was delivered, and sending it again."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation, ProblemForm

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
_READ, _WRITE = "webhooks:read", "webhooks:write"

OPERATIONS = (
    Operation("GET", "/v1/webhook/events", "list_events", (Mode.API_KEY, Mode.SESSION), scope=_READ),
    Operation(
        "GET", "/v1/webhook/events/{event_id}/deliveries", "list_deliveries_of_event", (Mode.API_KEY, Mode.SESSION),
        scope=_READ,
    ),
    Operation(
        "POST", "/v1/webhook/test", "test_webhook", _CALLERS, scope=_WRITE, status=201, rate=Rate.WEBHOOK_TEST,
        problem_form=ProblemForm.LIST,
    ),
    Operation("GET", "/v1/webhook/{webhook_id}/deliveries", "list_deliveries", _CALLERS, scope=_READ),
    Operation(
        "POST", "/v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver", "redeliver", _CALLERS, scope=_WRITE,
        status=202,
    ),
    Operation("POST", "/v1/webhook/{webhook_id}/redeliver", "redeliver_failed", _CALLERS, scope=_WRITE, status=202),
)
