"""The life of a delivery as a state machine, and its signature."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.webhooks.records import Delivery, DeliveryState, Endpoint
from chalicelib.webhooks.rules import (
    LEASE,
    RETRY_DELAYS,
    EventContext,
    claim,
    deliveries_of,
    delivery_headers,
    is_open,
    settle,
    sign,
)
from chalicelib.webhooks.samples import CORE_KINDS, VARIANT_KINDS, sample_event
from tests.fakes.world import START

CONTEXT = EventContext(START, lambda n: b"\1" * n, "https://explorer.example", "service-network")
ENDPOINT = Endpoint("01W", "acct", None, "https://shop.example", "secret", True, START)


def fresh() -> Delivery:
    (delivery,) = deliveries_of(sample_event("payment.confirmed", "acct", None, CONTEXT), [ENDPOINT], START)
    return delivery


@given(st.lists(st.tuples(st.sampled_from(["claim", "settle"]), st.booleans(), st.integers(0, 40), st.integers(0, 4))))
def test_no_course_of_events_makes_more_than_four_attempts_or_two_at_a_time(
    steps: list[tuple[str, bool, int, int]],
) -> None:
    delivery, now, attempts, holder_until = fresh(), START, [], START
    for act, delivered, seconds, number in steps:
        now += timedelta(seconds=seconds)
        if act == "claim" and (taken := claim(delivery, number, now)) is not None:
            assert delivery.state is not DeliveryState.SENDING or now >= holder_until
            delivery, holder_until = taken, now + LEASE
            attempts.append(taken.attempt)
        elif act == "settle" and delivery.state is DeliveryState.SENDING:
            delivery, following = settle(delivery, delivered, now)
            assert (following is not None) == (not delivered and delivery.state is DeliveryState.PENDING)
            if following:
                assert following.delay_seconds == RETRY_DELAYS[delivery.attempt - 1]
    assert max(attempts, default=0) <= 3
    assert attempts == sorted(attempts)


def test_a_delivery_ends_after_its_fourth_failure() -> None:
    delivery, now = fresh(), START
    for attempt in range(4):
        taken = claim(delivery, attempt, now)
        assert taken is not None
        delivery, following = settle(taken, False, now)
        now += timedelta(seconds=following.delay_seconds if following else 0)
    assert delivery.state is DeliveryState.FAILED
    assert not is_open(delivery)
    assert claim(delivery, 3, now + timedelta(days=1)) is None


def test_fanning_out_twice_makes_the_same_delivery() -> None:
    assert fresh().delivery_id == fresh().delivery_id


def test_an_inactive_webhook_gets_nothing() -> None:
    event = sample_event("payment.confirmed", "acct", None, CONTEXT)
    assert deliveries_of(event, [replace(ENDPOINT, is_active=False)], START) == ()


@given(st.text(), st.binary())
def test_the_signature_is_the_plain_hex_hmac_of_the_raw_body(secret: str, body: bytes) -> None:
    assert sign(secret, body) == hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_the_test_header_is_absent_on_real_deliveries() -> None:
    assert "x-service-test" not in delivery_headers(fresh(), "secret", ["service"])


def test_there_is_a_sample_of_every_kind_and_it_names_itself() -> None:
    for kind in CORE_KINDS + VARIANT_KINDS:
        body = json.loads(sample_event(kind, "acct", "cli_x", CONTEXT).body)
        assert body["event"] == kind
        assert ("clientId" in body) == kind.endswith(".client_id")
        if "requestId" in body:
            assert body["requestID"] == body["requestId"]
