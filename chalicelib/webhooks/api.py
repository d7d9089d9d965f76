"""Webhooks of the auth host: those of the client id that calls, or of the account when an API key comes alone.

A session names the client id, or means the account as a whole.
"""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.accounts.client_ids import flows as credentials
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.webhooks import flows as webhooks
from chalicelib.webhooks.schemas import (
    ClientIdChoice,
    CreateWebhook,
    TestAnswer,
    TestWebhook,
    WebhookAnswer,
    WebhookCreated,
    WebhookDeleted,
)

blueprint = Blueprint(__name__)
_MODES = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)


def _client_id(call: Call, choice: ClientIdChoice) -> str | None:
    """Whose webhooks are meant. Raises NotFound when a session names a client id that is not its account's."""
    caller = call.caller
    if caller.mode is not Mode.SESSION or choice.clientId is None:
        return caller.client_id
    return credentials.own_client_id(call.services, caller.account_id, choice.clientId).client_id


@operation(
    blueprint,
    "POST",
    "/v1/webhook",
    summary="Register a webhook",
    modes=_MODES,
    scope="webhooks:write",
    body=CreateWebhook,
    answer=WebhookCreated,
    status=201,
    errors=(400, 401, 403, 404),
    shows_secret=True,
)
def create_webhook(call: Call) -> WebhookCreated:
    client_id = _client_id(call, call.body)
    endpoint, secret = webhooks.register(call.services, call.actor, client_id, call.body.url)
    return WebhookCreated(id=endpoint.webhook_id, secret=secret)


@operation(
    blueprint,
    "GET",
    "/v1/webhook",
    summary="List webhooks",
    modes=_MODES,
    scope="webhooks:read",
    query=ClientIdChoice,
    answer=list[WebhookAnswer],
    errors=(400, 401, 403, 404),
)
def list_webhooks(call: Call) -> list[WebhookAnswer]:
    client_id = _client_id(call, call.query)
    endpoints = webhooks.list_endpoints(call.services, call.caller.account_id, client_id)
    return [WebhookAnswer.of(each) for each in endpoints]


@operation(
    blueprint,
    "PUT",
    "/v1/webhook/{webhook_id}",
    summary="Switch a webhook off or on",
    modes=_MODES,
    scope="webhooks:write",
    query=ClientIdChoice,
    answer=WebhookAnswer,
    errors=(400, 401, 403, 404, 409),
)
def toggle_webhook(call: Call) -> WebhookAnswer:
    client_id = _client_id(call, call.query)
    return WebhookAnswer.of(webhooks.toggle(call.services, call.actor, client_id, call.path["webhook_id"]))


@operation(
    blueprint,
    "DELETE",
    "/v1/webhook/{webhook_id}",
    summary="Delete a webhook for good",
    modes=_MODES,
    scope="webhooks:write",
    query=ClientIdChoice,
    answer=WebhookDeleted,
    errors=(400, 401, 403, 404, 409),
)
def delete_webhook(call: Call) -> WebhookDeleted:
    webhook_id = call.path["webhook_id"]
    webhooks.delete(call.services, call.actor, _client_id(call, call.query), webhook_id)
    return WebhookDeleted(id=webhook_id, deleted=True)


@operation(
    blueprint,
    "POST",
    "/v1/webhook/test",
    summary="Send a sample event to every active webhook",
    modes=_MODES,
    scope="webhooks:write",
    body=TestWebhook,
    answer=TestAnswer,
    status=201,
    errors=(400, 401, 403, 404),
    lists_problems=True,
)
def test_webhook(call: Call) -> TestAnswer:
    client_id = _client_id(call, call.body)
    sent = webhooks.send_test(call.services, call.caller.account_id, client_id, call.body.eventType)
    return TestAnswer(sent=sent, failed=0)
