"""Webhooks: endpoints, signed deliveries and their attempts (interface.md, Delivery and retry)."""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy, ulid_from
from chalicelib.webhooks.records import Delivery, DeliveryState, Endpoint, Event, EventVariant

RETRY_DELAYS = (1, 5, 15)
"""Seconds before the 2nd, 3rd and 4th attempt; attempts that fail immediately are made at 0, 1, 6 and 21 s."""
LEASE = timedelta(seconds=20)
"""How long a worker holds a claimed attempt; longer than a request can take (5 s) plus the writes around it."""
GIVE_UP = timedelta(hours=24)
"""The age at which a delivery that could not be attempted fails. The attempts at a failing receiver take 21 s."""
MAX_ENDPOINTS = 20
"""The most webhooks of one client id or account; bounds the transaction that writes the deliveries of an event."""


@frozen
class NextAttempt:
    """An attempt to queue, with its delay."""

    delivery: Delivery
    delay_seconds: int


def deliveries_of(
    event: Event, endpoints: Iterable[Endpoint], now: datetime, is_test: bool = False
) -> tuple[Delivery, ...]:
    """One delivery of each variant for each active endpoint.

    Ids are derived from event, variant and endpoint, so it is safe to repeat.
    """
    variants = (EventVariant(event.kind, event.body), *event.variants)
    return tuple(
        Delivery(
            delivery_id=_delivery_id(event, number, endpoint),
            webhook_id=endpoint.webhook_id,
            account_id=endpoint.account_id,
            client_id=endpoint.client_id,
            kind=variant.kind,
            body=variant.body,
            is_test=is_test,
            attempt=0,
            state=DeliveryState.PENDING,
            due_at=now,
            created_at=now,
        )
        for number, variant in enumerate(variants)
        for endpoint in endpoints
        if endpoint.is_active
    )


def claim(delivery: Delivery, attempt: int, now: datetime) -> Delivery | None:
    """The delivery as claimed by this worker; None if another worker has the attempt, or it was made already.

    A claim is a lease: if its worker dies, the attempt can be claimed again after LEASE.
    """
    if attempt != delivery.attempt:
        return None
    is_free = delivery.state is DeliveryState.PENDING
    is_abandoned = delivery.state is DeliveryState.SENDING and now >= delivery.due_at
    if not (is_free or is_abandoned):
        return None
    return replace(delivery, state=DeliveryState.SENDING, due_at=now + LEASE)


def settle(delivery: Delivery, delivered: bool, now: datetime) -> tuple[Delivery, NextAttempt | None]:
    """The claimed delivery after its attempt, and the next attempt if one is left."""
    if delivered:
        return replace(delivery, state=DeliveryState.DELIVERED), None
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


def abandon(delivery: Delivery) -> Delivery:
    """The delivery as failed without another attempt: its webhook was deleted or switched off, or it is too old."""
    return replace(delivery, state=DeliveryState.FAILED)


def is_too_old(delivery: Delivery, now: datetime) -> bool:
    """Whether an open delivery is GIVE_UP old; only a lasting fault of this service delays deliveries that long."""
    return now - delivery.created_at >= GIVE_UP


def release(delivery: Delivery, now: datetime) -> Delivery:
    """An overdue delivery with its attempt unclaimed and due now."""
    return replace(delivery, state=DeliveryState.PENDING, due_at=now)


def sign(secret: str, body: bytes) -> str:
    """Lower-case hex HMAC-SHA256 of the raw body, 64 characters, no prefix."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def delivery_headers(delivery: Delivery, secret: str, brands: Iterable[str]) -> dict[str, str]:
    """The headers of one attempt, once for each brand (`x-<brand>-signature`, ...)."""
    signature = sign(secret, delivery.body.encode())
    headers = {"content-type": "application/json"}
    for brand in brands:
        headers[f"x-{brand}-signature"] = signature
        headers[f"x-{brand}-delivery"] = delivery.delivery_id
        headers[f"x-{brand}-retry-count"] = str(delivery.attempt)
        if delivery.is_test:
            headers[f"x-{brand}-test"] = "true"
    return headers


def _delivery_id(event: Event, number: int, endpoint: Endpoint) -> str:
    variant = f".{number}" if number else ""
    seed = hashlib.sha256(f"{event.event_id}{variant}/{endpoint.webhook_id}".encode()).digest()
    return ulid_from(event.created_at, seed[:10])


Payload = dict[str, Any]


@frozen
class EventContext:
    """The time and entropy of an event, and the two names in its body that a deployment sets."""

    now: datetime
    entropy: Entropy
    explorer_url: str
    payment_processor: str


def compact_json(value: Any) -> str:
    """JSON exactly as JavaScript's `JSON.stringify(JSON.parse(text))` returns it.

    Some receivers verify the signature over the re-serialised body (supplement, 10.1). So there are no spaces and no
    unnecessary escapes, and amounts are strings, because a number can be written in several ways.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
