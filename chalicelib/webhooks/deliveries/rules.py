"""The life of a delivery: signed attempts, their schedule, and when it ends (specification, Delivery and retry).

    pending     its attempt is due or queued                 -> sending, waiting, failed
    sending     a worker has claimed the attempt (a lease)   -> delivered, failed, pending (the next attempt), waiting
    waiting     its webhook does not answer (circuits)       -> pending, sending (as a probe), failed
    delivered, failed: over, unless the merchant asks for it again -> pending
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.destinations import EventMessage
from chalicelib.base.errors import Conflict
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import ulid_from
from chalicelib.base.timestamps import iso
from chalicelib.webhooks import signatures as webhook_signatures
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.endpoints.rules import hears_of, receivers, receives
from chalicelib.webhooks.records import EVENT_RETENTION, Event

RETRY_DELAYS = (1, 5, 15)
"""Seconds before the 2nd, 3rd and 4th attempt; attempts that fail immediately are made at 0, 1, 6 and 21 s."""
LEASE = timedelta(seconds=20)
"""How long a worker holds a claimed attempt; longer than a request can take (5 s) plus the writes around it."""
GIVE_UP = timedelta(hours=24)
"""How long a delivery waits for a webhook that does not answer, and an attempt whose workers die is repeated."""
ATTEMPTS_KEPT = 8
"""The newest attempts of a delivery that are kept: those of two times that it was sent."""


@frozen
class NextAttempt:
    """An attempt to queue, with its delay."""

    delivery: Delivery
    delay_seconds: int


def deliveries_of(
    event: Event, endpoints: Iterable[Endpoint], now: datetime, is_test: bool = False
) -> tuple[Delivery, ...]:
    """One delivery of each variant for each active endpoint that chose its kind; of a test, for each active endpoint.

    In the order of the variants. Ids are derived from event, variant and endpoint, so it is safe to repeat.
    """
    return tuple(
        Delivery(
            delivery_id=delivery_id_of(event, number, endpoint),
            webhook_id=endpoint.webhook_id,
            account_id=endpoint.account_id,
            client_id=endpoint.client_id,
            kind=kind,
            body=body,
            is_test=is_test,
            attempt=0,
            state=DeliveryState.PENDING,
            due_at=now,
            created_at=now,
            person_id=event.person_id,
            is_public=endpoint.is_public,
            event_id=event.event_id,
        )
        for number, (kind, body) in enumerate(event.bodies)
        for endpoint in receivers(endpoints)
        if event.about_webhook_id is None or hears_of(endpoint, event.about_webhook_id)
        if is_test or receives(endpoint, kind)
    )


def is_prompt(delivery: Delivery) -> bool:
    """Whether the attempt that is due is the first one of a real event. Tests, retries and repetitions may be slow."""
    return delivery.attempt == 0 and not delivery.is_test and not delivery.attempts


def may_claim(delivery: Delivery, attempt: int, now: datetime) -> bool:
    """Whether the attempt is neither made nor in progress.

    A claim is a lease: if its worker dies, the attempt can be claimed again after LEASE.
    """
    if attempt != delivery.attempt or not delivery.is_open:
        return False
    return delivery.state is not DeliveryState.SENDING or now >= delivery.lease_end


def claim(delivery: Delivery, attempt: int, now: datetime) -> Delivery | None:
    """The delivery as claimed by this worker; None if another worker has the attempt, or it was made already."""
    if not may_claim(delivery, attempt, now):
        return None
    since = delivery.trying_since or now
    return replace(delivery, state=DeliveryState.SENDING, leased_until=now + LEASE, trying_since=since)


def settle(
    delivery: Delivery, made: Attempt, delivered: bool, is_probe: bool, now: datetime
) -> tuple[Delivery, NextAttempt | None]:
    """The claimed delivery after its attempt, and the next attempt if one is to be queued.

    A probe that fails uses up no attempt: the delivery waits as the others do.
    """
    delivery = replace(delivery, attempts=(*(delivery.attempts or ()), made)[-ATTEMPTS_KEPT:])
    if delivered:
        return replace(delivery, state=DeliveryState.DELIVERED), None
    if is_probe:
        return wait(delivery, now), None
    if delivery.attempt >= len(RETRY_DELAYS):
        return replace(delivery, state=DeliveryState.FAILED), None
    delay = RETRY_DELAYS[delivery.attempt]
    retry = replace(
        delivery,
        attempt=delivery.attempt + 1,
        state=DeliveryState.PENDING,
        due_at=now + timedelta(seconds=delay),
    )
    return retry, NextAttempt(retry, delay)


def wait(delivery: Delivery, now: datetime) -> Delivery:
    """The delivery while its webhook does not answer."""
    since = delivery.trying_since or now
    return replace(delivery, state=DeliveryState.WAITING, due_at=now, trying_since=since)


def abandon(delivery: Delivery) -> Delivery:
    """The delivery as failed without another attempt: its webhook was deleted or switched off, or it is too old."""
    return replace(delivery, state=DeliveryState.FAILED)


def is_too_old(delivery: Delivery, now: datetime) -> bool:
    """Whether a delivery was tried or waited for GIVE_UP, and so fails.

    One that is pending only lacks a worker of this service, so it never is, however long that takes.
    """
    if delivery.state is DeliveryState.PENDING or delivery.trying_since is None:
        return False
    return delivery.is_open and now - delivery.trying_since >= GIVE_UP


def release(delivery: Delivery, now: datetime) -> Delivery:
    """An overdue or waiting delivery with its attempt unclaimed and due now."""
    return replace(delivery, state=DeliveryState.PENDING, due_at=now)


def check_may_repeat(delivery: Delivery, endpoint: Endpoint) -> None:
    """Raises Conflict if a delivery cannot be sent again now."""
    if not endpoint.is_active:
        raise Conflict("The webhook is switched off: switch it on first")
    if delivery.state in (DeliveryState.PENDING, DeliveryState.SENDING):
        raise Conflict("The delivery is in progress")


def repeat(delivery: Delivery, now: datetime) -> Delivery:
    """A delivery that is sent again from its first attempt on, with the same id."""
    begun = replace(delivery, trying_since=None, leased_until=None)
    return replace(begun, state=DeliveryState.PENDING, attempt=0, due_at=now)


def first_id_since(since: datetime, now: datetime) -> str:
    """The lowest id of a delivery whose event happened at `since` or later. Older ones than are kept are left out."""
    return ulid_from(min(max(since, now - EVENT_RETENTION), now), bytes(10))


def delivery_headers(
    delivery: Delivery,
    body: bytes,
    secrets: Sequence[str],
    brands: Sequence[str],
    now: datetime,
    *,
    in_sandbox: bool = False,
) -> dict[str, str]:
    """The headers of one attempt to send a body now: those of Standard Webhooks, and our own for each brand.

    `secrets` are those of its webhook that hold, the one that ends first before the other.
    """
    headers = {
        "content-type": "application/json",
        **webhook_signatures.standard_headers(delivery.delivery_id, secrets, body, now),
        **webhook_signatures.own_headers(brands, secrets, body),
    }
    for brand in brands:
        headers[f"x-{brand}-delivery"] = delivery.delivery_id
        if delivery.event_id is not None:
            headers[f"x-{brand}-event-id"] = delivery.event_id
        headers[f"x-{brand}-retry-count"] = str(delivery.attempt)
        if delivery.is_test or in_sandbox:
            headers[f"x-{brand}-test"] = "true"
    return headers


def message_of(delivery: Delivery, body: bytes, *, in_sandbox: bool = False) -> EventMessage:
    """A claimed delivery as it is put into a destination in AWS. Its sendings differ in when their first attempt began.
    """
    text = body.decode()
    since = delivery.trying_since or delivery.created_at
    return EventMessage(
        message_id=delivery.delivery_id,
        sending_id=f"{delivery.delivery_id}-{iso(since)}",
        event_id=delivery.event_id or delivery.delivery_id,
        kind=delivery.kind,
        body=text,
        request_id=json.loads(text).get("requestId"),
        is_test=delivery.is_test or in_sandbox,
        created_at=delivery.created_at,
    )


def delivery_id_of(event: Event, number: int, endpoint: Endpoint) -> str:
    """The id of the delivery of the event (number 0) or one of its variants (from 1 on) to a webhook."""
    variant = f".{number}" if number else ""
    seed = hashlib.sha256(f"{event.event_id}{variant}/{endpoint.webhook_id}".encode()).digest()
    return ulid_from(event.created_at, seed[:10])
