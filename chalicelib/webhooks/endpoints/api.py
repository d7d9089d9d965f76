"""Views of webhooks: those of the calling client id, or of the account if an API key is sent without a client id.

With a session the request names the client id; without one, the webhooks of the account as a whole are meant.
"""

from chalicelib.access.credentials.store import own_client_id
from chalicelib.access.modes import Mode
from chalicelib.http.view import AnyCall, Call
from chalicelib.webhooks.endpoints import flows as webhooks
from chalicelib.webhooks.endpoints.schemas import (
    ClientIdChoice,
    CreateWebhook,
    WebhookAnswer,
    WebhookCreated,
    WebhookDeleted,
)


def client_id_of(call: AnyCall, choice: ClientIdChoice) -> str | None:
    """The client id whose webhooks are meant, None for the account's. Raises NotFound if it is another account's."""
    caller = call.caller
    if caller.mode is not Mode.SESSION or choice.clientId is None:
        return caller.client_id
    return own_client_id(call.services.store, caller.account_id, choice.clientId).client_id


def create_webhook(call: Call[CreateWebhook, None]) -> WebhookCreated:
    client_id = client_id_of(call, call.body)
    endpoint, secret = webhooks.register(call.services, call.actor, client_id, call.body.url)
    return WebhookCreated(id=endpoint.webhook_id, secret=secret)


def list_webhooks(call: Call[None, ClientIdChoice]) -> list[WebhookAnswer]:
    client_id = client_id_of(call, call.query)
    endpoints = webhooks.list_endpoints(call.services, call.caller.account_id, client_id)
    return [WebhookAnswer.of(each) for each in endpoints]


def toggle_webhook(call: Call[None, ClientIdChoice]) -> WebhookAnswer:
    client_id = client_id_of(call, call.query)
    return WebhookAnswer.of(webhooks.toggle(call.services, call.actor, client_id, call.path["webhook_id"]))


def delete_webhook(call: Call[None, ClientIdChoice]) -> WebhookDeleted:
    webhook_id = call.path["webhook_id"]
    webhooks.delete(call.services, call.actor, client_id_of(call, call.query), webhook_id)
    return WebhookDeleted(id=webhook_id, deleted=True)
