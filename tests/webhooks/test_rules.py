"""The life of a delivery as a state machine, and its signature."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, ValidationFailed
from chalicelib.base.ids import ulid_from
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState
from chalicelib.webhooks.deliveries.rules import (
    LEASE,
    RETRY_DELAYS,
    abandon,
    claim,
    deliveries_of,
    delivery_headers,
    is_too_old,
    release,
    repeat,
    settle,
    wait,
)
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS, parse_events, receives
from chalicelib.webhooks.kinds import CORE, KINDS, NAMED_KINDS, Kind, body_of, new_event, sample_of
from chalicelib.webhooks.records import EventVariant
from chalicelib.webhooks.rules import EventContext
from chalicelib.webhooks.samples import sample_event
from chalicelib.webhooks.signatures import sign
from tests.fakes.world import START

CONTEXT = EventContext(START, lambda n: b"\1" * n, "https://explorer.example", "service-network")
MADE = Attempt(START, 500, None, "", 5)
ENDPOINT = Endpoint("01W", "acct", None, "https://shop.example", "secret", True, START, Mode.API_KEY)


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
            delivery, following = settle(delivery, MADE, delivered, False, now)
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
        delivery, following = settle(taken, MADE, False, False, now)
        now += timedelta(seconds=following.delay_seconds if following else 0)
    assert delivery.state is DeliveryState.FAILED
    assert not delivery.is_open
    assert claim(delivery, 3, now + timedelta(days=1)) is None


@pytest.mark.parametrize("attempt", [0, 2])
def test_only_the_attempt_that_is_due_can_be_claimed(attempt: int) -> None:
    delivery = replace(fresh(), attempt=1)
    assert claim(delivery, attempt, START) is None
    assert claim(delivery, 1, START) is not None


def test_a_claim_lasts_20_seconds_to_the_instant() -> None:
    """Longer than a request may take, which is 5 s, plus its bookkeeping."""
    taken = claim(fresh(), 0, START)
    assert taken is not None
    assert (taken.state, taken.leased_until) == (DeliveryState.SENDING, START + timedelta(seconds=20))
    assert claim(taken, 0, taken.lease_end - timedelta(microseconds=1)) is None
    again = claim(taken, 0, taken.lease_end)
    assert again is not None
    assert again.leased_until == START + timedelta(seconds=40)


def test_a_failed_attempt_is_due_again_after_its_delay() -> None:
    taken = claim(fresh(), 0, START)
    assert taken is not None
    now = START + timedelta(seconds=3)
    retry, following = settle(taken, MADE, False, False, now)
    assert (retry.state, retry.attempt, retry.due_at) == (DeliveryState.PENDING, 1, now + timedelta(seconds=1))
    assert following is not None
    assert (following.delivery, following.delay_seconds) == (retry, 1)


def test_a_delivered_one_is_closed_and_is_not_tried_again() -> None:
    taken = claim(fresh(), 0, START)
    assert taken is not None
    settled, following = settle(taken, MADE, True, False, START)
    assert (settled.state, following) == (DeliveryState.DELIVERED, None)
    assert not settled.is_open


def test_a_released_delivery_is_pending_and_due_now() -> None:
    taken = claim(fresh(), 0, START)
    assert taken is not None
    now = START + timedelta(minutes=5)
    released = release(taken, now)
    assert (released.state, released.due_at, released.attempt) == (DeliveryState.PENDING, now, 0)


def test_a_delivery_that_waits_or_whose_worker_dies_is_given_up_24_hours_after_its_first_attempt() -> None:
    taken = claim(replace(fresh(), due_at=START), 0, START + timedelta(hours=48))
    assert taken is not None
    for waiting in (taken, wait(taken, START + timedelta(hours=50))):
        assert not is_too_old(waiting, START + timedelta(hours=72, microseconds=-1))
        assert is_too_old(waiting, START + timedelta(hours=72))


def test_a_delivery_that_only_lacks_a_worker_is_never_given_up() -> None:
    retry, _ = settle(replace(fresh(), trying_since=START), MADE, False, False, START)
    for delivery in (fresh(), retry, release(retry, START)):
        assert not is_too_old(delivery, START + timedelta(days=29))


def test_a_delivery_that_waits_has_waited_since_its_first_attempt_or_since_now() -> None:
    now, taken = START + timedelta(hours=1), claim(fresh(), 0, START)
    assert taken is not None
    assert wait(taken, now) == replace(taken, state=DeliveryState.WAITING, due_at=now, trying_since=START)
    assert wait(fresh(), now) == replace(fresh(), state=DeliveryState.WAITING, due_at=now, trying_since=now)


def test_a_delivery_that_is_sent_again_begins_anew_with_the_attempts_that_were_made() -> None:
    now, ended = START + timedelta(hours=1), fresh()
    for attempt in range(4):
        taken = claim(ended, attempt, START + timedelta(minutes=attempt))
        assert taken is not None
        ended, _ = settle(taken, MADE, False, False, START + timedelta(minutes=attempt))
    assert repeat(ended, now) == replace(fresh(), due_at=now, attempts=(MADE,) * 4)


def test_an_abandoned_delivery_is_closed() -> None:
    assert abandon(fresh()).state is DeliveryState.FAILED


def test_a_new_delivery_is_due_at_once_and_carries_the_event() -> None:
    event = sample_event("payment.confirmed", "acct", None, CONTEXT)
    now = START + timedelta(seconds=9)
    (delivery,) = deliveries_of(event, [ENDPOINT], now, is_test=True)
    assert (delivery.webhook_id, delivery.account_id, delivery.client_id) == ("01W", "acct", None)
    assert (delivery.kind, delivery.body, delivery.is_test) == (event.kind, event.body, True)
    assert (delivery.attempt, delivery.state) == (0, DeliveryState.PENDING)
    assert (delivery.due_at, delivery.created_at) == (now, now)


def test_fanning_out_twice_makes_the_same_delivery() -> None:
    assert fresh().delivery_id == fresh().delivery_id


def test_ids_of_deliveries_are_made_of_event_webhook_and_variant_so_that_another_version_makes_the_same() -> None:
    event = sample_event("payment.confirmed", "acct", None, CONTEXT)
    made = deliveries_of(replace(event, variants=(EventVariant("payment.confirmed.checkout", "{}"),)), [ENDPOINT], START)
    for delivery, name in zip(made, (event.event_id, f"{event.event_id}.1"), strict=True):
        assert delivery.delivery_id == ulid_from(START, hashlib.sha256(f"{name}/01W".encode()).digest()[:10])


@pytest.mark.parametrize("kind", [each for each in CORE if each.variants], ids=lambda each: each.name)
def test_the_body_of_a_variant_is_the_one_that_is_made_of_its_kind(kind: Kind) -> None:
    names = [f"{kind.name}.{variant}" for variant in kind.variants]
    facts = sample_of(kind.name)
    event = new_event(kind.name, body_of(kind.name, facts), "acct", None, CONTEXT)
    with_variants = replace(event, variants=tuple(map(EventVariant, names)))
    assert list(with_variants.bodies) == [(name, body_of(name, facts)) for name in (kind.name, *names)]
    of_shape_1 = replace(event, variants=tuple(EventVariant(name, body_of(name, facts)) for name in names))
    assert list(of_shape_1.bodies) == list(with_variants.bodies)


def test_each_webhook_has_a_delivery_of_its_own() -> None:
    event = sample_event("payment.confirmed", "acct", None, CONTEXT)
    made = deliveries_of(event, [ENDPOINT, replace(ENDPOINT, webhook_id="01X")], START)
    assert len({delivery.delivery_id for delivery in made}) == 2
    assert all(len(delivery.delivery_id) == 26 for delivery in made)


def kinds_delivered(events: tuple[str, ...], is_test: bool = False) -> list[str]:
    event = sample_event("payment.confirmed", "acct", None, CONTEXT)
    variants = tuple(EventVariant(f"payment.confirmed.{each}", "{}") for each in ("client_id", "checkout"))
    made = deliveries_of(replace(event, variants=variants), [replace(ENDPOINT, events=events)], START, is_test)
    return [delivery.kind for delivery in made]


@pytest.mark.parametrize(
    ("events", "delivered"),
    [
        (("*",), ["payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"]),
        (("payment.*",), ["payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"]),
        (("payment.confirmed",), ["payment.confirmed"]),
        (("payment.confirmed.*",), ["payment.confirmed.client_id", "payment.confirmed.checkout"]),
        (("payment.confirmed.checkout", "payment.partial"), ["payment.confirmed.checkout"]),
        (("payment.partial", "payment_detail.*"), []),
    ],
)
def test_a_webhook_gets_the_variants_whose_kinds_it_chose(events: tuple[str, ...], delivered: list[str]) -> None:
    assert kinds_delivered(events) == delivered
    assert len(kinds_delivered(events, is_test=True)) == 3


@given(st.lists(st.sampled_from([*KINDS, "*", "payment.*", "payment.partial.*", "request.*"]), min_size=1))
def test_a_choice_covers_what_one_of_its_entries_covers(texts: list[str]) -> None:
    endpoint = replace(ENDPOINT, events=parse_events(texts))
    assert len(set(endpoint.events)) == len(endpoint.events) and set(endpoint.events) == set(texts)
    for kind in KINDS:
        covered = any(fnmatchcase(kind, text) for text in texts)
        assert receives(endpoint, kind) == (kind in texts if kind in NAMED_KINDS else covered)


def test_of_a_text_that_is_no_kind_80_characters_are_told() -> None:
    with pytest.raises(BadRequest) as refused:
        parse_events(["payment.*", "x" * 81])
    assert f"events: '{'x' * 80}' is neither a kind" in refused.value.message


def test_an_inactive_webhook_gets_nothing() -> None:
    event = sample_event("payment.confirmed", "acct", None, CONTEXT)
    assert deliveries_of(event, [replace(ENDPOINT, is_active=False)], START) == ()


@given(st.text(), st.binary())
def test_the_signature_is_the_plain_hex_hmac_of_the_raw_body(secret: str, body: bytes) -> None:
    assert sign(secret, body) == hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_the_test_header_is_absent_on_real_deliveries() -> None:
    assert "x-service-test" not in delivery_headers(fresh(), b"", ["secret"], ["service"], START)


def test_one_owner_has_at_most_20_webhooks() -> None:
    assert MAX_ENDPOINTS == 20


def test_a_sample_of_an_unknown_kind_is_refused_with_the_kinds_that_there_are() -> None:
    with pytest.raises(ValidationFailed) as refused:
        sample_event("payment.lost", "acct", None, CONTEXT)
    (problem,) = refused.value.problems
    assert problem.path == ("eventType",)
    assert "payment.lost" in problem.message and "'payment.confirmed'" in problem.message


def test_a_sample_names_the_client_id_of_the_caller_or_a_made_up_one() -> None:
    for client_id, named in (("cli_x", "cli_x"), (None, "cli_test")):
        body = json.loads(sample_event("payment.confirmed.client_id", "acct", client_id, CONTEXT).body)
        assert (body["clientId"], body["origin"]) == (named, "https://shop.example")


def test_a_sample_has_the_types_of_the_interface_and_is_never_announced() -> None:
    paid = sample_event("payment.confirmed", "acct", None, CONTEXT)
    assert paid.published
    assert json.loads(paid.body)["isCryptoToFiat"] is False
    assert json.loads(sample_event("compliance.updated", "acct", None, CONTEXT).body)["isCompliant"] is True


def test_there_is_a_sample_of_every_kind_and_it_names_itself() -> None:
    for kind in KINDS:
        body = json.loads(sample_event(kind, "acct", "cli_x", CONTEXT).body)
        assert body["event"] == kind
        names_client_id = kind.startswith(("payment.confirmed", "payment.partial"))
        assert ("clientId" in body) == names_client_id
        assert ("createdWith" in body) == kind.startswith(("payment.", "request."))
        without = json.loads(sample_event(kind, "acct", None, CONTEXT).body)
        assert ("clientId" in without) == kind.endswith(".client_id")
        if "requestId" in body:
            assert body["requestID"] == body["requestId"]
