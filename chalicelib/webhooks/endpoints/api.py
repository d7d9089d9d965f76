"""Views of webhooks: those of the calling client id, or of the account if an API key is sent without a client id.

With a session the request may name a client id. Without one, a new webhook is the account's as a whole, and existing
ones are listed and found whether they are the account's or one of its client ids'. A client id alone, which is public,
finds only what a client id alone has registered.
"""

from datetime import timedelta

from chalicelib.base import ids
from chalicelib.base.destinations import trust_policy
from chalicelib.base.errors import Forbidden
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.store import own_client_id
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import changes_only_public
from chalicelib.platform.http.view import AnyCall, Call
from chalicelib.webhooks.endpoints import flows, schemas
from chalicelib.webhooks.endpoints.records import ALL_EVENTS, Choices, Endpoint


def client_id_of(call: AnyCall, choice: schemas.ClientIdChoice) -> str | None:
    """The client id whose webhooks are meant, None for the account's. Raises NotFound if it is another account's."""
    caller = call.caller
    if caller.mode is not Mode.SESSION or choice.clientId is None:
        return caller.client_id
    return own_client_id(call.services.store, caller.account_id, choice.clientId).client_id


def finds_only_public(call: AnyCall) -> bool:
    """Whether the caller finds only webhooks that a client id alone registered, as it sends nothing else."""
    return changes_only_public(call.caller)


def endpoint_of(call: AnyCall, choice: schemas.ClientIdChoice) -> Endpoint:
    """The webhook of the path. Raises NotFound if it is not one of those that are meant."""
    return endpoint_with_id(call, choice, call.path["webhook_id"])


def endpoint_with_id(call: AnyCall, choice: schemas.ClientIdChoice, webhook_id: str) -> Endpoint:
    """The webhook with an id. Raises NotFound if it is not one of those that are meant."""
    account_id = call.caller.account_id
    if _means_any(call, choice):
        return flows.endpoint_of_any(call.services, account_id, webhook_id)
    client_id, only_public = client_id_of(call, choice), finds_only_public(call)
    return flows.own_endpoint(call.services, account_id, client_id, webhook_id, only_public=only_public)


def create_webhook(call: Call[schemas.CreateWebhook, None]) -> schemas.WebhookCreated:
    client_id, body = client_id_of(call, call.body), call.body
    choices = Choices(body.events or ALL_EVENTS, body.httpSignature, body.roleArn)
    account = ""
    if body.roleArn is not None:
        flows.check_address(call.services, call.caller.mode, body.url, choices)
        account = call.services.destinations().own_account()
    endpoint, secret = flows.register(
        call.services, call.actor, client_id, call.caller.mode, body.url, choices, call.source
    )
    there = endpoint.destination
    trust = {"trustPolicy": trust_policy(account, there.external_id)} if there is not None else {}
    return schemas.WebhookCreated.of(endpoint, secret, **trust)


def list_webhooks(call: Call[None, schemas.ClientIdChoice]) -> list[schemas.ListedWebhook]:
    services, account_id = call.services, call.caller.account_id
    if _means_any(call, call.query):
        found = flows.list_all(services, account_id)
    else:
        client_id, only_public = client_id_of(call, call.query), finds_only_public(call)
        found = flows.list_endpoints(services, account_id, client_id, only_public=only_public)
    failing = {webhook_id: iso(since) for webhook_id, since in flows.failing_since(services, found).items()}
    return [schemas.ListedWebhook.of(each, failingSince=failing.get(each.webhook_id)) for each in found]


def toggle_webhook(call: Call[schemas.UpdateWebhook | None, schemas.ClientIdChoice]) -> schemas.WebhookAnswer:
    endpoint = endpoint_of(call, call.query)
    body = call.body or schemas.UpdateWebhook()
    is_active, events, is_confirmed = body.apply_to(endpoint)
    _check_may_change(call, is_confirmed or endpoint.is_confirmed)
    changed = flows.change(call.services, call.actor, endpoint, is_active, events, is_confirmed, body.httpSignature)
    return schemas.WebhookAnswer.of(changed)


def rotate_webhook_secret(call: Call[schemas.RotateSecret | None, schemas.ClientIdChoice]) -> schemas.SecretRotated:
    endpoint, shown = endpoint_of(call, call.query), ids.webhook_secret(call.entropy)
    overlap = timedelta(hours=(call.body or schemas.RotateSecret()).overlapHours)
    return schemas.SecretRotated.of(*flows.rotate_secret(call.services, call.actor, endpoint, overlap, shown))


def delete_webhook(call: Call[None, schemas.ClientIdChoice]) -> schemas.WebhookDeleted:
    endpoint = endpoint_of(call, call.query)
    _check_may_change(call, endpoint.is_confirmed)
    flows.delete(call.services, call.actor, endpoint)
    return schemas.WebhookDeleted(id=endpoint.webhook_id, deleted=True)


def _check_may_change(call: AnyCall, is_confirmed: bool) -> None:
    """Raises Forbidden if a client id alone would confirm a webhook, or change one that is confirmed."""
    if is_confirmed and finds_only_public(call):
        raise Forbidden(
            "Only the account confirms a webhook, and changes or deletes one that is confirmed: send an x-api-key, or "
            "sign in for a session"
        )


def _means_any(call: AnyCall, choice: schemas.ClientIdChoice) -> bool:
    return call.caller.mode is Mode.SESSION and choice.clientId is None
