"""Makes attempts of deliveries. Those whose webhook does not answer wait (deliveries/waiting.py)."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from math import ceil
from urllib.parse import urlsplit

from chalicelib.base.errors import NotFound
from chalicelib.platform.metrics import DELIVERIES, FIRST_ATTEMPTS_FAILED
from chalicelib.platform.outbound.sender import PostResult, url_as_sent
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints
from chalicelib.platform.storage.retrying import retry, try_write
from chalicelib.platform.storage.store import WriteConflict, with_next_version
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.circuits.records import Circuit
from chalicelib.webhooks.circuits.rules import Route
from chalicelib.webhooks.deliveries import rules, store
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState
from chalicelib.webhooks.endpoints import store as endpoint_store
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.flows import event_context, queue_publishing
from chalicelib.webhooks.samples import sample_event
from chalicelib.webhooks.sealed_bodies import body_for, body_of

_NOTE_ATTEMPTS = 3


def send_test(
    services: Services,
    account_id: str,
    client_id: str | None,
    kind: str,
    *,
    only_public: bool,
    webhook_id: str | None = None,
) -> int:
    """Queues a sample event for every active webhook of the caller, or for one of them; returns their number.

    Raises NotFound if none is active.
    """
    context = event_context(services)
    event = sample_event(kind, account_id, client_id, context)
    found = endpoint_store.endpoints(services.store, account_id, client_id)
    wanted = [each for each in found if webhook_id in (None, each.webhook_id)]
    endpoints = [each for each in wanted if each.is_public or not only_public]
    deliveries = rules.deliveries_of(event, endpoints, context.now, is_test=True)
    if not deliveries:
        raise NotFound("No active webhooks found")
    queue_now(services, store.change_all(services.store, [(None, delivery) for delivery in deliveries]))
    return len(deliveries)


def deliver(services: Services, delivery_id: str, attempt: int, in_slow_lane: bool) -> None:
    """Makes one attempt: claims it, posts the event, writes the outcome, queues the next attempt.

    Two reads and two writes while the webhook answers soon; in five seconds one read more for those with
    `http_signature`. Each attempt is made at least once, by one worker at a time; a worker that does not get the claim
    does nothing. If the process dies after the claim, the lease ends and the
    sweep queues the same attempt again. An attempt whose webhook failed or was slow last is moved to the slow lane;
    while its circuit is open the delivery waits, unless it is the probe that is due. What is about a person who was
    erased is not sent any more; the body of a delivery about a person takes one more read and a KMS call. Personal
    data is emptied here and not where the delivery is made: so it holds for every attempt of any.
    """
    delivery = store.find_delivery(services.store, delivery_id)
    if delivery is None or not rules.may_claim(delivery, attempt, services.clock()):
        return
    endpoint, circuit = store.endpoint_and_circuit(services.store, delivery)
    body = body_of(services, delivery)
    if endpoint is None or not endpoint.is_active or body is None:
        fail(services, delivery)
        return
    body = body_for(endpoint, body)
    route = circuit_rules.route(circuit, services.clock())
    if route is Route.WAIT:
        _set_aside(services, delivery)
    elif route is not Route.ATTEMPT and not in_slow_lane:
        _send_attempts(services, services.settings.queue("webhook-retries"), [rules.NextAttempt(delivery, 0)])
    elif route is Route.PROBE and circuit is not None:
        _probe(services, endpoint, circuit, delivery, body)
    else:
        _attempt(services, endpoint, circuit, delivery, body, is_probe=False)


def requeue(services: Services, delivery_id: str) -> bool:
    """Queues the current attempt of an overdue delivery again, or fails it if its attempt was repeated for GIVE_UP.

    Returns False if there is nothing to do, or a worker has the attempt. The due time becomes now, so that not every
    sweep queues the same attempt while the queue is slow.
    """
    delivery, now = store.find_delivery(services.store, delivery_id), services.clock()
    if delivery is None or delivery.next_due is None or not rules.may_claim(delivery, delivery.attempt, now):
        return False
    if rules.is_too_old(delivery, now):
        return fail(services, delivery)
    queued = store.change_all(services.store, [(delivery, rules.release(delivery, now))])
    queue_now(services, queued)
    return bool(queued)  # none if a worker has claimed it


def fail(services: Services, delivery: Delivery) -> bool:
    """Fails a delivery without another attempt. Returns False if it was changed since it was read."""
    failed = store.change_all(services.store, [(delivery, rules.abandon(delivery))])
    for each in failed:
        _note_end(services, each)
    return bool(failed)


def queue_now(services: Services, deliveries: Iterable[Delivery]) -> None:
    """Queues attempts that are due: first ones of events in the prompt lane, others in the slow lane."""
    by_lane: dict[str, list[rules.NextAttempt]] = {}
    for delivery in deliveries:
        lane = services.settings.queue("webhooks" if rules.is_prompt(delivery) else "webhook-retries")
        by_lane.setdefault(lane, []).append(rules.NextAttempt(delivery, 0))
    for lane, attempts in by_lane.items():
        _send_attempts(services, lane, attempts)


def queue_tending(services: Services, circuit: Circuit) -> None:
    """Queues the next probe of an open circuit, or the next release of what waited for a closed one."""
    if circuit.due_at is None:
        return
    seconds = max(0, ceil((circuit.due_at - services.clock()).total_seconds()))
    message = Message({"webhookId": circuit.webhook_id}, group=circuit.group, delay=seconds)
    send_hints(services.queue, services.log, services.settings.queue("webhook-retries"), [message], continues=True)


def _probe(services: Services, endpoint: Endpoint, circuit: Circuit, delivery: Delivery, body: str) -> None:
    probing = circuit_rules.begin_probe(circuit, services.clock())
    if try_write(services.store, probing):
        _attempt(services, endpoint, with_next_version(probing), delivery, body, is_probe=True)
    else:
        _set_aside(services, delivery)  # another worker makes the probe


def _attempt(
    services: Services, endpoint: Endpoint, circuit: Circuit | None, delivery: Delivery, body: str, is_probe: bool
) -> None:
    claimed = rules.claim(delivery, delivery.attempt, services.clock())
    if claimed is None:
        return
    try:
        claimed = store.write_change(services.store, delivery, claimed)
    except WriteConflict:
        return
    began = services.clock()
    result = _post(services, endpoint, claimed, body.encode())
    answer = "" if delivery.person_id else result.answer  # a receiver may repeat what it was sent
    made = Attempt(began, result.status, result.error, answer, result.duration_ms)
    settled, following = rules.settle(claimed, made, result.delivered, is_probe, services.clock())
    try:
        store.write_change(services.store, claimed, settled)
    except WriteConflict:
        return  # the lease ended meanwhile and another worker took over
    if claimed.attempt == 0 and not claimed.is_test:
        services.metrics.add(FIRST_ATTEMPTS_FAILED, value=int(not result.delivered))
    _note_end(services, settled)
    if following is not None:
        repeated = rules.NextAttempt(settled, following.delay_seconds)
        _send_attempts(services, services.settings.queue("webhook-retries"), [repeated])
    _note_outcome(services, circuit, settled, result, is_probe)


def _note_outcome(
    services: Services, circuit: Circuit | None, delivery: Delivery, result: PostResult, is_probe: bool
) -> None:
    """Writes the circuit if the outcome changes it."""
    now, alive = services.clock(), circuit_rules.is_alive(result.status)

    def note(current: Circuit | None) -> None:
        before = current or circuit_rules.new_circuit(
            delivery.webhook_id, delivery.account_id, delivery.client_id, now, delivery.is_public
        )
        if alive:
            after = circuit_rules.after_success(before, now, timedelta(milliseconds=result.duration_ms))
        else:
            after = circuit_rules.after_failure(before, delivery.delivery_id, is_probe, now)
        if after == before:
            return
        event = circuit_rules.failing_event(after, event_context(services)) if is_probe else None
        events = [event] if event else []
        services.store.write(replace(after, is_notified=after.is_notified or bool(events)), *events)
        if is_probe and circuit_rules.is_long_open(after, now):
            known = {"webhook_id": after.webhook_id, "account_id": after.account_id, "since": after.failing_since}
            services.log.error("webhook fails for an hour", extra=known)
        if after.state is not before.state:
            facts = {"webhook_id": after.webhook_id, "circuit": after.state.value, "probes": after.failed_probes}
            services.log.warning("webhook circuit", extra=facts)
            queue_tending(services, after)
        queue_publishing(services, events)

    with suppress(WriteConflict):  # the delivery is settled; the next attempt has the same outcome, and notes it
        retry(_NOTE_ATTEMPTS, note, circuit, lambda: event_store.circuit(services.store, delivery.webhook_id))


def _set_aside(services: Services, delivery: Delivery) -> None:
    if delivery.state is not DeliveryState.WAITING:
        store.change_all(services.store, [(delivery, rules.wait(delivery, services.clock()))])


def _signed_headers(services: Services, endpoint: Endpoint, delivery: Delivery, body: bytes) -> dict[str, str]:
    now, brands, in_sandbox = services.clock(), services.settings.header_brands, services.live is not None
    secrets = [services.secrets.decrypt_once(each, endpoint.webhook_id) for each in endpoint.secrets_at(now)]
    # receivers compare the time that is signed with their own clocks
    sent_at = services.real.clock()
    headers = rules.delivery_headers(delivery, body, secrets, brands, sent_at, in_sandbox=in_sandbox)
    if not endpoint.http_signature:
        return headers
    from chalicelib.webhooks.signature_keys import flows as signature_keys

    return headers | signature_keys.sign(services.real, url_as_sent(endpoint.url), headers, body)


def _post(services: Services, endpoint: Endpoint, delivery: Delivery, body: bytes) -> PostResult:
    if endpoint.destination is not None:
        message = rules.message_of(delivery, body, in_sandbox=services.live is not None)
        result = services.destinations().send(endpoint.destination, message)
    else:
        result = services.sender.post(endpoint.url, _signed_headers(services, endpoint, delivery, body), body)
    log = services.log.info if result.delivered else services.log.warning
    log(
        "webhook attempt",
        extra={
            "webhook_id": endpoint.webhook_id,
            "delivery_id": delivery.delivery_id,
            "event": delivery.kind,
            "attempt": delivery.attempt,
            "host": urlsplit(endpoint.url).hostname or endpoint.url,
            "status": result.status,
            "error": result.error,
            "duration_ms": result.duration_ms,
        },
    )
    return result


def _note_end(services: Services, delivery: Delivery) -> None:
    """Counts a delivery whose attempt is over, by what it is now; logs one that failed for good."""
    services.metrics.add(DELIVERIES, delivery.state.value)
    if delivery.state is not DeliveryState.FAILED:
        return
    services.log.error(
        "webhook failed for good",
        extra={
            "webhook_id": delivery.webhook_id,
            "delivery_id": delivery.delivery_id,
            "event": delivery.kind,
            "attempts": len(delivery.attempts or ()),
        },
    )


def _send_attempts(services: Services, queue: str, attempts: list[rules.NextAttempt]) -> None:
    messages = [
        Message(
            body={"deliveryId": each.delivery.delivery_id, "attempt": each.delivery.attempt},
            group=each.delivery.group,
            delay=each.delay_seconds,
        )
        for each in attempts
    ]
    send_hints(services.queue, services.log, queue, messages)
