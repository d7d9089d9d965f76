"""Signatures of deliveries, verified by the unmodified libraries of Standard Webhooks; replacing a secret."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from svix import Webhook as Svix

from chalicelib.base.errors import Conflict
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries import reading as delivery_reading
from chalicelib.webhooks.deliveries.records import Listing
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints import store as endpoint_store
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.kinds import KINDS
from chalicelib.webhooks.signatures import sign, standard_secret
from tests.fakes.world import World
from tests.support.client import Shop
from tests.webhooks.inbox import Inbox, Received

URL = "https://93.184.215.14/hook"
OVERLAP = timedelta(hours=24)


def holds(received: Received, secret: str) -> bool:
    """Whether both libraries verify it by this secret; they may not differ."""
    found = set()
    for library in (Webhook, Svix):
        try:
            library(standard_secret(secret)).verify(received.body, dict(received.headers))
            found.add(True)
        except Exception as error:
            assert type(error).__name__ == "WebhookVerificationError", repr(error)
            found.add(False)
    assert len(found) == 1
    return found.pop()


def own(received: Received, secret: str) -> list[str]:
    """The headers of our own form that have the signature of this secret."""
    return sorted(name for name, value in received.headers.items() if value == sign(secret, received.body))


def registered(world: World, inbox: Inbox) -> tuple[Endpoint, str]:
    return endpoints.register(world.services, world.actor, None, Mode.API_KEY, inbox.url)


def rotated(world: World, endpoint: Endpoint, secret: str, overlap: timedelta = OVERLAP) -> Endpoint:
    return endpoints.rotate_secret(world.services, world.actor, endpoint, overlap, secret)[0]


def sampled(world: World, kind: str = "payment.confirmed") -> None:
    deliveries.send_test(world.services, world.account_id, None, kind, only_public=False)
    world.drain()


def test_both_libraries_verify_a_delivery_of_every_kind_of_event(sending: World, inbox: Inbox) -> None:
    _, secret = registered(sending, inbox)
    for kind in KINDS:
        sampled(sending, kind)
    assert [json.loads(each.body)["event"] for each in inbox.received] == list(KINDS)
    for each in inbox.received:
        assert holds(each, secret) and not holds(each, secret[::-1])
        assert each.headers["webhook-id"] == each.headers["x-service-delivery"]
        assert not holds(replace(each, body=each.body + b" "), secret)
        assert not holds(replace(each, headers={**each.headers, "webhook-id": "other"}), secret)


def test_each_attempt_and_each_redelivery_has_its_own_timestamp_and_is_verified(sending: World, inbox: Inbox) -> None:
    endpoint, secret = registered(sending, inbox)
    inbox.status = 500
    sampled(sending)
    (failed,) = delivery_reading.page(sending.services, endpoint, Listing.FAILED, None, 5)[0]
    sending.advance(100)
    delivery_reading.repeat_one(sending.services, endpoint, failed.delivery_id)
    sending.drain()
    assert len(inbox.received) == 8 and all(holds(each, secret) for each in inbox.received)
    assert len({each.headers["webhook-id"] for each in inbox.received}) == 1
    at = [int(each.headers["webhook-timestamp"]) for each in inbox.received]
    assert [each - at[0] for each in at[:4]] == [0, 1, 6, 21] and at[4] - at[0] >= 100


def test_a_delivery_that_is_kept_for_more_than_five_minutes_is_refused(sending: World, inbox: Inbox) -> None:
    _, secret = registered(sending, inbox)
    sending.advance(-301)
    sampled(sending)
    (late,) = inbox.received
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(standard_secret(secret)).verify(late.body, dict(late.headers))


def test_during_the_overlap_either_secret_verifies_in_both_forms_and_afterwards_the_new_one(
    sending: World, inbox: Inbox
) -> None:
    endpoint, old = registered(sending, inbox)
    new = "5e" * 32
    rotated(sending, endpoint, new)
    sampled(sending)
    (both,) = inbox.received
    assert holds(both, old) and holds(both, new) and not holds(both, "ab" * 32)
    brands = ("x-request-network", "x-service")
    assert own(both, old) == [f"{each}-signature" for each in brands], "a receiver that knows one header is not broken"
    assert own(both, new) == [f"{each}-signature-next" for each in brands]
    sending.advance(OVERLAP.total_seconds())
    sampled(sending)
    after = inbox.received[-1]
    assert own(after, new) == [f"{each}-signature" for each in brands] and own(after, old) == []
    assert len(after.headers["webhook-signature"].split()) == 1


def test_an_overlap_of_nothing_ends_the_secret_at_once(sending: World, inbox: Inbox) -> None:
    endpoint, old = registered(sending, inbox)
    rotated(sending, endpoint, "5e" * 32, timedelta())
    sampled(sending)
    (only,) = inbox.received
    assert holds(only, "5e" * 32) and not holds(only, old) and own(only, old) == []


def test_it_is_not_replaced_again_while_two_hold_unless_both_end(sending: World, inbox: Inbox) -> None:
    """A call that is repeated without an idempotency key would end the only secret that the receiver has."""
    endpoint, oldest = registered(sending, inbox)
    second = rotated(sending, endpoint, "5e" * 32)
    with pytest.raises(Conflict, match="with overlapHours 0, which ends both"):
        rotated(sending, second, "7f" * 32)
    third = rotated(sending, second, "7f" * 32, timedelta())
    sampled(sending)
    (found,) = inbox.received
    assert (holds(found, oldest), holds(found, "5e" * 32), holds(found, "7f" * 32)) == (False, False, True)
    fourth = rotated(sending, third, "9a" * 32)
    sending.advance(OVERLAP.total_seconds())
    rotated(sending, fourth, "bc" * 32)


def test_the_operation_returns_the_new_secret_once_and_says_until_when_the_old_one_holds(new_shop: Shop) -> None:
    made = new_shop.api.request("POST", "/v1/webhook", {"url": URL}, new_shop.by_key).json
    assert made["standardSecret"] == standard_secret(made["secret"])
    path, once = f"/v1/webhook/{made['id']}/secret", {**new_shop.by_key, "idempotency-key": "once"}
    reply = new_shop.api.request("POST", path, {"overlapHours": 2}, once)
    assert reply.status == 200 and reply.json["secret"] not in {made["secret"], None}
    assert reply.json["standardSecret"] == standard_secret(reply.json["secret"])
    assert new_shop.api.request("POST", path, {"overlapHours": 2}, once).json == reply.json, "replaced once"
    until = datetime.fromisoformat(reply.json["previousUntil"])
    assert timedelta(hours=1, minutes=50) < until - datetime.now(UTC) <= timedelta(hours=2)
    assert new_shop.api.request("POST", path, {"overlapHours": 0}, new_shop.by_key).json["previousUntil"] is None
    assert reply.json["secret"] not in new_shop.api.log.getvalue()


@pytest.mark.parametrize("hours", [-1, 73, 1.5, "2", True, 10**30])
def test_an_overlap_that_is_no_number_of_hours_up_to_72_is_refused(new_shop: Shop, hours: object) -> None:
    made = new_shop.api.request("POST", "/v1/webhook", {"url": URL}, new_shop.by_key).json
    reply = new_shop.api.request("POST", f"/v1/webhook/{made['id']}/secret", {"overlapHours": hours}, new_shop.by_key)
    assert (reply.status, "overlapHours" in str(reply.json)) == (400, True)


def test_the_secret_of_another_account_is_not_replaced(new_shop: Shop) -> None:
    made = new_shop.api.request("POST", "/v1/webhook", {"url": URL}, new_shop.by_key).json
    stranger = Shop(new_shop.api)
    for credentials in (stranger.by_key, {**stranger.by_key, **stranger.by_client}):
        reply = new_shop.api.request("POST", f"/v1/webhook/{made['id']}/secret", {}, credentials)
        assert (reply.status, reply.message) == (404, "Webhook not found")


def test_a_client_id_alone_replaces_no_secret_not_even_of_a_webhook_that_it_registered(new_shop: Shop) -> None:
    """It is public: whoever has it could have all deliveries refused, with a webhook that looks as before."""
    made = new_shop.api.request("POST", "/v1/webhook", {"url": URL}, new_shop.by_client).json
    path = f"/v1/webhook/{made['id']}/secret"
    assert new_shop.api.request("POST", path, {}, new_shop.by_client).status == 403
    both = {**new_shop.by_key, **new_shop.by_client}
    assert new_shop.api.request("POST", path, {}, both).json["secret"] != made["secret"]


def test_of_two_replacements_at_once_one_fails_and_changes_nothing(world: World) -> None:
    from chalicelib.platform.storage.store import WriteConflict

    endpoint, _ = world.register_webhook()
    first = rotated(world, endpoint, "5e" * 32)
    with pytest.raises(WriteConflict):
        rotated(world, endpoint, "7f" * 32)
    assert endpoint_store.find_endpoint(world.services.store, world.account_id, endpoint.client_id, endpoint.webhook_id) == first
