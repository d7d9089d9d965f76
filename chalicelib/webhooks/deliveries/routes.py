"""The operations of deliveries, on the auth host: tests, what was delivered, and sending it again."""

from chalicelib.platform.access.modes import Mode, Rate
from chalicelib.platform.http.operation import Operation, ProblemForm

OPERATIONS = (
    Operation(
        "GET", "/v1/webhook/events", "list_events",
        "List the events of an account, newest first",
        description=(
            "What happened in the last 30 days, with the body that webhooks receive, also where there is no webhook. "
            "Go on with `cursor` until `nextCursor` is null. A kind is that of the core event: `payment.confirmed`."
        ),
        modes=(Mode.API_KEY, Mode.SESSION),
        scope="webhooks:read",
        errors=(400, 401, 403),
    ),
    Operation(
        "POST", "/v1/webhook/test", "test_webhook",
        "Queue a sample event for every active webhook",
        description=(
            "Queues a sample of the kind `eventType` for every active webhook, with the header `x-service-test: "
            "true`. 404 without an active webhook."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        rate=Rate.WEBHOOK_TEST,
        status=201,
        errors=(400, 401, 403, 404),
        problem_form=ProblemForm.LIST,
    ),
    Operation(
        "GET", "/v1/webhook/{webhook_id}/deliveries", "list_deliveries",
        "List the deliveries of a webhook with their attempts, newest first",
        description=(
            "Those of the last 30 days, with the status or error of their newest attempts. Go on with `cursor` until "
            "`nextCursor` is null."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:read",
        errors=(400, 401, 403, 404),
    ),
    Operation(
        "POST", "/v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver", "redeliver",
        "Send a delivery again, with the same id",
        description="Whatever its state is. It keeps its id and gets four new attempts. 409 while it is pending.",
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        status=202,
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "POST", "/v1/webhook/{webhook_id}/redeliver", "redeliver_failed",
        "Send the failed deliveries of a webhook again, at most 100 at a time",
        description=(
            "Those of events from `since` on, the oldest first. Repeat with `cursor` until `nextCursor` is null."
        ),
        modes=(Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION),
        scope="webhooks:write",
        status=202,
        errors=(400, 401, 403, 404, 409),
    ),
)
