"""Webhooks: endpoints, signed deliveries and their attempts (interface.md, Delivery and retry)."""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base.ids import Entropy, ulid_from
from chalicelib.webhooks.records import Delivery, DeliveryState, Endpoint, Event

RETRY_DELAYS = (1, 5, 15)
"""Seconds before the 2nd, 3rd and 4th attempt: at 0, 1, 6 and 21 s when each attempt fails at once."""
LEASE = timedelta(seconds=20)
"""How long a claimed attempt belongs to one worker; longer than a request may take (5 s) plus its bookkeeping."""
GIVE_UP = timedelta(hours=24)
"""A delivery that could not even be attempted for a day is given up. Failing receivers end after 21 seconds."""
MAX_ENDPOINTS = 20
"""Webhooks of one client id or account: what bounds the transaction that fans an event out."""


@dataclass(frozen=True)
class NextAttempt:
    """A message to send: this attempt, after that many seconds."""

    delivery: Delivery
    delay_seconds: int


def deliveries_of(
    event: Event, endpoints: Iterable[Endpoint], now: datetime, is_test: bool = False
) -> tuple[Delivery, ...]:
    """One delivery for each active endpoint; its id follows from event and endpoint, so doing it twice is harmless."""
    return tuple(
        Delivery(
            delivery_id=_delivery_id(event, endpoint),
            webhook_id=endpoint.webhook_id,
            account_id=endpoint.account_id,
            client_id=endpoint.client_id,
            kind=event.kind,
            body=event.body,
            is_test=is_test,
            attempt=0,
            state=DeliveryState.PENDING,
            due_at=now,
            created_at=now,
        )
        for endpoint in endpoints
        if endpoint.is_active
    )


def claim(delivery: Delivery, attempt: int, now: datetime) -> Delivery | None:
    """The delivery as taken by this worker; None when the attempt is another's or past.

    A claim is a lease: when its worker dies, the attempt is free again after it ends, and no attempt is lost.
    """
    if attempt != delivery.attempt:
        return None
    free = delivery.state is DeliveryState.PENDING
    abandoned = delivery.state is DeliveryState.SENDING and now >= delivery.due_at
    if not (free or abandoned):
        return None
    return replace(delivery, state=DeliveryState.SENDING, due_at=now + LEASE)


def settle(delivery: Delivery, delivered: bool, now: datetime) -> tuple[Delivery, NextAttempt | None]:
    """The claimed delivery after its attempt, and the next attempt when one is left."""
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
    """The delivery as given up: its webhook was deleted or switched off, or it is hopeless."""
    return replace(delivery, state=DeliveryState.FAILED)


def is_hopeless(delivery: Delivery, now: datetime) -> bool:
    """Whether no attempt could be finished for so long that something on our side must be broken for good."""
    return now - delivery.created_at >= GIVE_UP


def release(delivery: Delivery, now: datetime) -> Delivery:
    """An overdue delivery with its attempt free again, due now."""
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


def _delivery_id(event: Event, endpoint: Endpoint) -> str:
    seed = hashlib.sha256(f"{event.event_id}/{endpoint.webhook_id}".encode()).digest()
    return ulid_from(event.created_at, seed[:10])

Payload = dict[str, Any]


@dataclass(frozen=True)
class EventContext:
    """When an event happens, and the two names in its body that are the deployment's own."""

    now: datetime
    entropy: Entropy
    explorer_url: str
    payment_processor: str


def compact_json(value: Any) -> str:
    """Exactly what JavaScript's `JSON.stringify(JSON.parse(text))` gives back.

    Receivers in the field verify the signature over the re-serialised body (supplement, 10.1): no spaces, no
    escapes beyond the necessary, and every amount a string, so that no number can be spelt in two ways.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
