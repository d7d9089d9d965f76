"""Manages webhooks, announces events, and makes deliveries."""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from chalicelib.access.audit.records import Actor, AuditEntry
from chalicelib.access.audit.rules import entry
from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.services import Services
from chalicelib.storage.queue import Message
from chalicelib.storage.store import Absent, Delete, WriteConflict
from chalicelib.webhooks import store
from chalicelib.webhooks.records import Delivery, DeliveryState, Endpoint, EndpointUrl, Event
from chalicelib.webhooks.rules import (
    MAX_ENDPOINTS,
    EventContext,
    NextAttempt,
    abandon,
    claim,
    deliveries_of,
    delivery_headers,
    is_too_old,
    release,
    settle,
)
from chalicelib.webhooks.samples import sample_event


def event_context(services: Services) -> EventContext:
    """The time, entropy and settings for events that happen now."""
    settings = services.settings
    return EventContext(services.clock(), services.entropy, settings.explorer_url, settings.payment_processor)


def register(services: Services, actor: Actor, client_id: str | None, url: str) -> tuple[Endpoint, str]:
    """Registers a webhook; returns it with its signing secret, which cannot be read again.

    One read, one transaction. Raises BadRequest for a URL whose address must not be called, for a URL that this client
    id or the account has a webhook for already, and if the owner has MAX_ENDPOINTS webhooks.
    """
    services.sender.check(url)
    account_id = actor.account_id
    if len(store.endpoints(services.store, account_id, client_id)) >= MAX_ENDPOINTS:
        raise BadRequest(f"No more than {MAX_ENDPOINTS} webhooks: delete one first")
    now, secret = services.clock(), ids.webhook_secret(services.entropy)
    webhook_id = ids.ulid(now, services.entropy)
    endpoint = Endpoint(
        webhook_id=webhook_id,
        account_id=account_id,
        client_id=client_id,
        url=url,
        secret_ciphertext=services.secrets.encrypt(secret, webhook_id),
        is_active=True,
        created_at=now,
    )
    url_record = EndpointUrl(account_id, client_id, url, webhook_id)
    platform = [Absent(replace(url_record, client_id=None))] if client_id else []
    try:
        services.store.write(endpoint, url_record, *platform, _audit_entry(services, actor, endpoint, "created"))
    except WriteConflict:
        raise BadRequest(
            "Webhook already exists, or a platform-level webhook with this URL already exists"
        ) from None
    return endpoint, secret


def list_endpoints(services: Services, account_id: str, client_id: str | None) -> tuple[Endpoint, ...]:
    """The webhooks of a client id, or of the account as a whole, oldest first."""
    return store.endpoints(services.store, account_id, client_id)


def toggle(services: Services, actor: Actor, client_id: str | None, webhook_id: str) -> Endpoint:
    """Switches a webhook off if it is on, else on."""
    endpoint = _endpoint(services, actor.account_id, client_id, webhook_id)
    switched = replace(endpoint, is_active=not endpoint.is_active)
    verb = "switched_on" if switched.is_active else "switched_off"
    services.store.write(switched, _audit_entry(services, actor, switched, verb))
    return switched


def delete(services: Services, actor: Actor, client_id: str | None, webhook_id: str) -> None:
    """Deletes a webhook; its open deliveries fail without another attempt."""
    endpoint = _endpoint(services, actor.account_id, client_id, webhook_id)
    url_record = store.url_of(services.store, endpoint)
    removed = [Delete(each) for each in (endpoint, url_record) if each is not None]
    services.store.write(*removed, _audit_entry(services, actor, endpoint, "deleted"))


def send_test(services: Services, account_id: str, client_id: str | None, kind: str) -> int:
    """Queues a sample event for every active webhook of the caller; returns their number. Raises NotFound if none."""
    context = event_context(services)
    event = sample_event(kind, account_id, client_id, context)
    endpoints = store.endpoints(services.store, account_id, client_id)
    deliveries = deliveries_of(event, endpoints, context.now, is_test=True)
    if not deliveries:
        raise NotFound("No active webhooks found")
    services.store.write(*deliveries)
    _queue(services, [NextAttempt(delivery, 0) for delivery in deliveries])
    return len(deliveries)


def announce(services: Services, events: Sequence[Event]) -> None:
    """Writes the deliveries of events of one owner, one transaction per event, and queues their first attempts.

    Safe to repeat: delivery ids are derived from the event, and only one transaction can mark the event as announced.
    If the process dies before the messages are sent, the sweep finds the deliveries due.
    """
    account_id, client_id = events[0].account_id, events[0].client_id
    endpoints = {endpoint.url: endpoint for endpoint in store.endpoints(services.store, account_id, None)}
    if client_id is not None:
        endpoints |= {endpoint.url: endpoint for endpoint in store.endpoints(services.store, account_id, client_id)}
    first: list[NextAttempt] = []
    for event in events:
        deliveries = deliveries_of(event, endpoints.values(), services.clock())
        try:
            services.store.write(replace(event, announced=True), *deliveries)
        except WriteConflict:
            continue  # another process announced it
        first += [NextAttempt(delivery, 0) for delivery in deliveries]
    _queue(services, first)


def announce_by_id(services: Services, event_id: str) -> bool:
    """Announces an event; returns False if it is announced already."""
    event = store.event(services.store, event_id)
    if event is None or event.announced:
        return False
    announce(services, [event])
    return True


def deliver(services: Services, delivery_id: str, attempt: int) -> None:
    """Makes one attempt: claims it, posts the event, writes the outcome, queues the next attempt.

    Each attempt is made at least once, by one worker at a time; a worker that does not get the claim does nothing. If
    the process dies after the claim, the lease ends and the sweep queues the same attempt again.
    """
    delivery = store.delivery(services.store, delivery_id)
    claimed = claim(delivery, attempt, services.clock()) if delivery else None
    if claimed is None:
        return
    try:
        services.store.write(claimed)
    except WriteConflict:
        return
    claimed = replace(claimed, version=claimed.version + 1)
    endpoint = store.endpoint_of(services.store, claimed)
    if endpoint is None or not endpoint.is_active:
        _finish(services, abandon(claimed), None)
        return
    delivered = _post(services, endpoint, claimed)
    _finish(services, *settle(claimed, delivered, services.clock()))


def requeue(services: Services, delivery_id: str) -> bool:
    """Queues the current attempt of an overdue delivery again, or fails the delivery if it is too old.

    Returns False if there is nothing to do. The due time becomes now, so that not every sweep queues the same attempt
    while the queue is slow.
    """
    delivery = store.delivery(services.store, delivery_id)
    if delivery is None or not delivery.is_open:
        return False
    now = services.clock()
    try:
        if is_too_old(delivery, now):
            _finish(services, abandon(delivery), None)
            return True
        released = release(delivery, now)
        services.store.write(released)
    except WriteConflict:
        return False  # a worker has claimed it
    _queue(services, [NextAttempt(released, 0)])
    return True


def _post(services: Services, endpoint: Endpoint, delivery: Delivery) -> bool:
    secret = services.secrets.decrypt_once(endpoint.secret_ciphertext, endpoint.webhook_id)
    headers = delivery_headers(delivery, secret, services.settings.header_brands)
    result = services.sender.post(endpoint.url, headers, delivery.body.encode())
    log = services.log.info if result.delivered else services.log.warning
    log(
        "webhook attempt",
        extra={
            "webhook_id": endpoint.webhook_id,
            "delivery_id": delivery.delivery_id,
            "event": delivery.kind,
            "attempt": delivery.attempt,
            "host": urlsplit(endpoint.url).hostname,
            "status": result.status,
            "error": result.error,
        },
    )
    return result.delivered


def _finish(services: Services, settled: Delivery, following: NextAttempt | None) -> None:
    try:
        services.store.write(settled)
    except WriteConflict:
        return  # the lease ended meanwhile and another worker took over
    if settled.state is DeliveryState.FAILED:
        services.log.error(
            "webhook failed for good",
            extra={
                "webhook_id": settled.webhook_id,
                "delivery_id": settled.delivery_id,
                "event": settled.kind,
                "attempts": settled.attempt + 1,
            },
        )
    if following is not None:
        _queue(services, [following])


def _queue(services: Services, attempts: list[NextAttempt]) -> None:
    messages = [
        Message(
            body={"deliveryId": attempt.delivery.delivery_id, "attempt": attempt.delivery.attempt},
            group=attempt.delivery.webhook_id,
            delay=attempt.delay_seconds,
        )
        for attempt in attempts
    ]
    services.queue.send(services.settings.webhooks_queue, messages)


def _audit_entry(services: Services, actor: Actor, endpoint: Endpoint, verb: str) -> AuditEntry:
    return entry(actor, f"webhook.{verb}", endpoint.webhook_id, services.clock(), services.entropy)


def _endpoint(services: Services, account_id: str, client_id: str | None, webhook_id: str) -> Endpoint:
    endpoint = store.endpoint(services.store, account_id, client_id, webhook_id)
    if endpoint is None:
        raise NotFound("Webhook not found")
    return endpoint
