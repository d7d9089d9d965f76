"""Registers, lists, switches and deletes webhooks."""

from dataclasses import replace

from chalicelib.access.audit.records import Actor, AuditEntry
from chalicelib.access.audit.rules import entry
from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.services import Services
from chalicelib.storage.store import Absent, Delete, WriteConflict
from chalicelib.webhooks.endpoints import store
from chalicelib.webhooks.endpoints.records import Endpoint, EndpointUrl
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS, check_room

_TRIES = 2 * MAX_ENDPOINTS
"""A registration fails at each one that is written while it counts; there are at most MAX_ENDPOINTS of them."""


def register(services: Services, actor: Actor, client_id: str | None, url: str) -> tuple[Endpoint, str]:
    """Registers a webhook; returns it with its signing secret, which cannot be read again.

    Two reads, one transaction, repeated if another registration of the owner came first. Raises BadRequest for a URL
    whose address must not be called, for a URL that this client id or the account has a webhook for already, and if the
    owner has MAX_ENDPOINTS webhooks.
    """
    services.sender.check(url)
    account_id = actor.account_id
    now, secret = services.clock(), ids.webhook_secret(services.entropy)
    webhook_id = ids.ulid(now, services.entropy)
    url_record = EndpointUrl(account_id, client_id, url, webhook_id)
    platform = [Absent(replace(url_record, client_id=None))] if client_id else []
    endpoint: Endpoint | None = None
    for _ in range(_TRIES):
        registrations = store.registrations(services.store, url_record.owner)  # before what it guards is counted
        check_room(store.endpoints(services.store, account_id, client_id))
        endpoint = endpoint or Endpoint(
            webhook_id=webhook_id,
            account_id=account_id,
            client_id=client_id,
            url=url,
            secret_ciphertext=services.secrets.encrypt(secret, webhook_id),
            is_active=True,
            created_at=now,
        )
        audited = _audit_entry(services, actor, endpoint, "created")
        try:
            services.store.write(endpoint, url_record, *platform, registrations, audited)
        except WriteConflict:
            if store.is_taken(services.store, url_record):
                raise BadRequest(
                    "Webhook already exists, or a platform-level webhook with this URL already exists"
                ) from None
            continue
        return endpoint, secret
    raise WriteConflict


def list_endpoints(services: Services, account_id: str, client_id: str | None) -> tuple[Endpoint, ...]:
    """The webhooks of a client id, or of the account as a whole, oldest first."""
    return store.endpoints(services.store, account_id, client_id)


def toggle(services: Services, actor: Actor, client_id: str | None, webhook_id: str) -> Endpoint:
    """Switches a webhook off if it is on, else on."""
    endpoint = own_endpoint(services, actor.account_id, client_id, webhook_id)
    switched = replace(endpoint, is_active=not endpoint.is_active)
    verb = "switched_on" if switched.is_active else "switched_off"
    services.store.write(switched, _audit_entry(services, actor, switched, verb))
    return switched


def delete(services: Services, actor: Actor, client_id: str | None, webhook_id: str) -> None:
    """Deletes a webhook; its open deliveries fail without another attempt."""
    endpoint = own_endpoint(services, actor.account_id, client_id, webhook_id)
    url_record = store.url_of(services.store, endpoint)
    removed = [Delete(each) for each in (endpoint, url_record) if each is not None]
    services.store.write(*removed, _audit_entry(services, actor, endpoint, "deleted"))


def own_endpoint(services: Services, account_id: str, client_id: str | None, webhook_id: str) -> Endpoint:
    """A webhook of a client id, or of the account as a whole. Raises NotFound if it is not theirs."""
    endpoint = store.endpoint(services.store, account_id, client_id, webhook_id)
    if endpoint is None:
        raise NotFound("Webhook not found")
    return endpoint


def _audit_entry(services: Services, actor: Actor, endpoint: Endpoint, verb: str) -> AuditEntry:
    return entry(actor, f"webhook.{verb}", endpoint.webhook_id, services.clock(), services.entropy)
