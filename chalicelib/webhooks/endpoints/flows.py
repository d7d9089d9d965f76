"""Registers, lists, changes and deletes webhooks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.destinations import check_destination
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.audit.rules import make_entry
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Absent, Delete, WriteConflict
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.endpoints import store
from chalicelib.webhooks.endpoints.records import Choices, ClientEndpoint, Endpoint
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS, check_room, parse_events
from chalicelib.webhooks.signature_keys import flows as signature_keys

_NOTHING_CHOSEN = Choices()
_TRIES = 3 * MAX_ENDPOINTS
"""A registration fails at each one that is written while it counts: at most MAX_ENDPOINTS of each of two kinds."""


def register(
    services: Services,
    actor: Actor,
    client_id: str | None,
    created_with: Mode,
    url: str,
    choices: Choices = _NOTHING_CHOSEN,
    source: ids.Source | None = None,
) -> tuple[Endpoint, str]:
    """Registers a webhook with these choices; returns it with its signing secret, which cannot be read again. Both are
    drawn from `source`, if they were shown before.

    A KMS call, two reads and one transaction; reads and transaction again if another registration of the owner came
    first; one read more with `http_signature`. Raises BadRequest for a URL whose address must not be called, for a URL
    that this client id or the account has a webhook for already, for unknown events, and if the owner has
    MAX_ENDPOINTS webhooks. `created_with` a client id alone, only its public webhooks are compared and counted. Of an
    ARN the role is checked in place of the address; raises Forbidden if a client id alone sends one.
    """
    chosen, is_arn = parse_events(choices.events), url.startswith("arn:")
    check_address(services, created_with, url, choices)
    now = services.clock()
    source = source or ids.Source(now, services.entropy)
    secret, webhook_id = ids.webhook_secret(source.entropy), ids.ulid(*source)
    endpoint = Endpoint(
        webhook_id=webhook_id,
        account_id=actor.account_id,
        client_id=client_id,
        url=url,
        secret_ciphertext=services.secrets.encrypt(secret, webhook_id),
        is_active=True,
        created_at=now,
        events=chosen,
        created_with=created_with,
        http_signature=choices.http_signature,
        role_arn=choices.role_arn,
        external_id=ids.ulid(*source) + source.entropy(16).hex() if is_arn else None,
    )
    if endpoint.http_signature:
        signature_keys.ensure_key(services.real)
    return _write_new(services, endpoint, _audit_entry(services, actor, endpoint, "created")), secret


def check_address(services: Services, created_with: Mode, url: str, choices: Choices) -> None:
    """Raises as `register`. With a role in the choices it asks nobody: neither DNS nor AWS."""
    if not url.startswith("arn:"):
        if choices.role_arn is not None:
            raise BadRequest("roleArn: only the ARN of a queue, topic or event bus has one")
        services.sender.check(url)
    elif created_with is Mode.CLIENT_ID:
        raise Forbidden("Only the account registers a destination in AWS: send an x-api-key, or sign in for a session")
    elif choices.http_signature:
        raise BadRequest("httpSignature: only requests to a URL are signed")
    else:
        check_destination(url, choices.role_arn)


@retry_conflicts(_TRIES)
def _write_new(services: Services, endpoint: Endpoint, audited: AuditEntry) -> Endpoint:
    """Writes a webhook with its audit entry, if its owner has room for it. Raises as `register`."""
    client_id = endpoint.client_id
    of_client = [ClientEndpoint(endpoint.account_id, endpoint.webhook_id, client_id)] if client_id else []
    own, *others = url_records = store.url_records(endpoint)
    absent = [Absent(each) for each in others]
    registrations = store.registrations(services.store, endpoint.owner)  # before what it guards is counted
    check_room(store.endpoints(services.store, endpoint.account_id, client_id), endpoint)
    try:
        return services.store.write(endpoint, own, *of_client, *absent, registrations, audited)
    except WriteConflict:
        if store.is_taken(services.store, url_records):
            message = "Webhook already exists, or a platform-level webhook with this URL already exists"
            raise BadRequest(message) from None
        raise


def list_endpoints(
    services: Services, account_id: str, client_id: str | None, *, only_public: bool
) -> tuple[Endpoint, ...]:
    """The webhooks of a client id, all or only the public ones, or of the account as a whole, oldest first."""
    found = store.endpoints(services.store, account_id, client_id)
    return tuple(each for each in found if each.is_public or not only_public)


def list_all(services: Services, account_id: str) -> tuple[Endpoint, ...]:
    """The webhooks of the account as a whole and of all its client ids, oldest first."""
    return store.endpoints_of_all(services.store, account_id)


def failing_since(services: Services, endpoints: Sequence[Endpoint]) -> dict[str, datetime]:
    """Since when those of the webhooks fail that are on and do (circuits/rules.py), by id. One read per 100."""
    now, active = services.clock(), [each.webhook_id for each in endpoints if each.is_active]
    circuits = event_store.circuits(services.store, active)
    found = {each: circuit_rules.failing_since(circuits.get(each), now) for each in active}
    return {webhook_id: since for webhook_id, since in found.items() if since is not None}


def change(
    services: Services,
    actor: Actor,
    endpoint: Endpoint,
    is_active: bool,
    events: Sequence[str],
    is_confirmed: bool,
    http_signature: bool | None = None,
) -> Endpoint:
    """Switches a webhook off or on, chooses its events, says whether it is confirmed, which only a public one is, and
    whether its attempts have the signature of RFC 9421 as well, which None leaves as it is.

    No write if nothing differs. Raises BadRequest.
    """
    changed = replace(
        endpoint,
        is_active=is_active,
        events=parse_events(events),
        is_confirmed=is_confirmed and endpoint.is_public,
        http_signature=endpoint.http_signature if http_signature is None else http_signature,
    )
    verbs = []
    if changed.is_active != endpoint.is_active:
        verbs.append("switched_on" if is_active else "switched_off")
    if changed.events != endpoint.events:
        verbs.append("events_chosen")
    if changed.is_confirmed != endpoint.is_confirmed:
        verbs.append("confirmed" if changed.is_confirmed else "no_longer_confirmed")
    if changed.http_signature != endpoint.http_signature:
        verbs.append("http_signature_chosen" if changed.http_signature else "http_signature_ended")
    if not verbs:
        return endpoint
    if changed.http_signature:
        signature_keys.ensure_key(services.real)
    return services.store.write(changed, *(_audit_entry(services, actor, changed, verb) for verb in verbs))


def rotate_secret(
    services: Services, actor: Actor, endpoint: Endpoint, overlap: timedelta, secret: str
) -> tuple[Endpoint, str]:
    """Gives a webhook another signing `secret`; returns it with that. The one before holds for the `overlap` beside it.

    One transaction. No more than two hold at a time: without an overlap all earlier ones end now. Raises Conflict for
    an overlap while one that was replaced still holds, as nobody knows which of the two the receiver has; WriteConflict
    if the webhook was changed since it was read.
    """
    now, valid_until = services.clock(), endpoint.previous_until
    if overlap and valid_until is not None and now < valid_until:
        raise Conflict(
            f"The secret that was replaced before holds until {iso(valid_until)}: repeat this call then, or with "
            "overlapHours 0, which ends both"
        )
    ciphertext = services.secrets.encrypt(secret, endpoint.webhook_id)
    changed = replace(
        endpoint,
        secret_ciphertext=ciphertext,
        secret_number=endpoint.secret_number + 1,
        previous_ciphertext=endpoint.secret_ciphertext if overlap else None,
        previous_until=now + overlap if overlap else None,
    )
    return services.store.write(changed, _audit_entry(services, actor, changed, "secret_rotated")), secret


def delete(services: Services, actor: Actor, endpoint: Endpoint) -> None:
    """Deletes a webhook; its open deliveries fail without another attempt."""
    others = (store.url_of(services.store, endpoint), store.entry_of(services.store, endpoint))
    removed = [Delete(each) for each in (endpoint, *others) if each is not None]
    services.store.write(*removed, _audit_entry(services, actor, endpoint, "deleted"))


def own_endpoint(
    services: Services, account_id: str, client_id: str | None, webhook_id: str, *, only_public: bool
) -> Endpoint:
    """A webhook of a client id, or of the account as a whole. Raises NotFound if it is not theirs.

    `only_public`, one that is not public is not found, either.
    """
    endpoint = store.find_endpoint(services.store, account_id, client_id, webhook_id)
    if endpoint is None or (only_public and not endpoint.is_public):
        raise NotFound("Webhook not found")
    return endpoint


def endpoint_of_any(services: Services, account_id: str, webhook_id: str) -> Endpoint:
    """A webhook of the account as a whole or of one of its client ids. Raises NotFound."""
    endpoint = store.endpoint_of_any(services.store, account_id, webhook_id)
    if endpoint is None:
        raise NotFound("Webhook not found")
    return endpoint


def _audit_entry(services: Services, actor: Actor, endpoint: Endpoint, verb: str) -> AuditEntry:
    return make_entry(actor, f"webhook.{verb}", endpoint.webhook_id, services.clock(), services.entropy)
