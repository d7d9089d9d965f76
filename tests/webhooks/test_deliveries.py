"""Deliveries over HTTP: listing them with their attempts, sending them again, and whose they are."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.webhooks import jobs
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.circuits.records import CircuitState
from chalicelib.webhooks.circuits.rules import new_circuit
from chalicelib.webhooks.deliveries import reading as delivery_reading
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.flows import queue_now
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState, Listing
from chalicelib.webhooks.deliveries.rules import deliveries_of, wait
from chalicelib.webhooks.deliveries.schemas import AttemptAnswer
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints import store as endpoint_store
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.records import Event, EventVariant
from chalicelib.webhooks.samples import sample_event
from tests.bench.calls import counted
from tests.fakes.world import START, World
from tests.support.client import Reply, Shop
from tests.support.opened import by_session
from tests.support.running import running

URL = "https://93.184.215.14/hook"


def made(world: World, endpoint: Endpoint, number: int, **changes: Any) -> Delivery:
    """A delivery of an event that happened `number` seconds after START, written as it is."""
    at = START + timedelta(seconds=number)
    event = Event(f"e{number}", "payment.confirmed", endpoint.account_id, endpoint.client_id, "{}", at, True)
    (delivery,) = deliveries_of(event, [endpoint], at)
    return delivery_store.write_change(world.services.store, None, replace(delivery, **changes))


FAILED = {"state": DeliveryState.FAILED, "attempt": 3}


def pages(world: World, endpoint: Endpoint, listing: Listing, limit: int) -> list[list[str]]:
    """The ids of every page, by the cursor of the one before."""
    found, cursor = [], None
    while True:
        page, cursor = delivery_reading.page(world.services, endpoint, listing, cursor, limit)
        found.append([each.delivery_id for each in page])
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 7, 25, 26, 100])
def test_pages_hold_every_delivery_once_newest_first(limit: int, world: World) -> None:
    endpoint, _ = world.register_webhook()
    stored = [made(world, endpoint, number).delivery_id for number in range(26)]
    found = pages(world, endpoint, Listing.ALL, limit)
    assert [id for page in found for id in page] == stored[::-1]
    assert {len(page) for page in found[:-1]} <= {limit}


def test_a_page_costs_a_query_per_shard_and_a_read_however_many_deliveries_there_are(world: World) -> None:
    endpoint, _ = world.register_webhook()
    for number in range(60):
        made(world, endpoint, number)
    with counted(world.client) as calls:
        delivery_reading.page(world.services, endpoint, Listing.ALL, None, 20)
    assert calls.by_operation == {"Query": 4, "BatchGetItem": 1}


def test_those_that_failed_and_those_that_wait_have_lists_of_their_own(world: World) -> None:
    endpoint, _ = world.register_webhook()
    stored = [made(world, endpoint, number) for number in range(9)]
    for each in stored[:3]:
        delivery_store.write_change(world.services.store, each, replace(each, **FAILED))
    for each in stored[3:5]:
        delivery_store.write_change(world.services.store, each, wait(each, START))
    ids = [each.delivery_id for each in stored]
    assert pages(world, endpoint, Listing.FAILED, 2) == [ids[2:0:-1], ids[:1]]
    assert pages(world, endpoint, Listing.WAITING, 9) == [ids[4:2:-1]]
    assert sum(len(page) for page in pages(world, endpoint, Listing.ALL, 9)) == 9


def test_one_webhook_lists_nothing_of_another(world: World) -> None:
    endpoint, _ = world.register_webhook()
    other, _ = endpoints.register(world.services, world.actor, None, Mode.API_KEY, "https://other.example/")
    made(world, endpoint, 1)
    assert pages(world, other, Listing.ALL, 5) == [[]]


def test_sending_again_begins_at_the_first_attempt_with_the_same_id_and_keeps_the_attempts_before(world: World) -> None:
    endpoint, _ = world.register_webhook()
    world.receiver.status = 500
    delivery = made(world, endpoint, 0)
    queue_now(world.services, [delivery])
    world.drain()
    (failed,) = delivery_reading.page(world.services, endpoint, Listing.FAILED, None, 5)[0]
    assert (failed.state, len(failed.attempts or ())) == (DeliveryState.FAILED, 4)
    world.receiver.posted.clear()
    delivery_reading.repeat_one(world.services, endpoint, failed.delivery_id)
    assert delivery_reading.page(world.services, endpoint, Listing.FAILED, None, 5)[0] == ()
    world.drain()
    assert [posted.delivery for posted in world.receiver.posted] == [failed.delivery_id] * 4
    assert [posted.headers["x-service-retry-count"] for posted in world.receiver.posted] == ["0", "1", "2", "3"]
    (again,) = delivery_reading.page(world.services, endpoint, Listing.FAILED, None, 5)[0]
    assert len(again.attempts or ()) == 8
    world.receiver.status = 200
    delivery_reading.repeat_one(world.services, endpoint, failed.delivery_id)
    world.drain()
    (done,) = delivery_reading.page(world.services, endpoint, Listing.ALL, None, 5)[0]
    assert done.state is DeliveryState.DELIVERED
    assert [each.status for each in done.attempts or ()] == [500] * 7 + [200], "the newest eight"


def test_a_delivery_that_is_sent_again_is_attempted_at_once_though_its_circuit_is_open(world: World) -> None:
    endpoint, _ = world.register_webhook()
    circuit = new_circuit(endpoint.webhook_id, endpoint.account_id, endpoint.client_id, START)
    world.services.store.write(replace(circuit, state=CircuitState.OPEN, due_at=START + timedelta(minutes=10)))
    waiting = made(world, endpoint, 0, state=DeliveryState.WAITING)
    failed = made(world, endpoint, 1, **FAILED)
    for each in (failed, waiting):
        delivery_reading.repeat_one(world.services, endpoint, each.delivery_id)
    world.drain()
    assert {posted.delivery for posted in world.receiver.posted} == {failed.delivery_id, waiting.delivery_id}
    assert all(posted.at < START + timedelta(minutes=2) for posted in world.receiver.posted)
    closed = event_store.circuit(world.services.store, endpoint.webhook_id)
    assert closed is not None and closed.state is CircuitState.CLOSED


def test_all_that_failed_since_a_time_are_sent_again_oldest_first_100_a_call(world: World) -> None:
    endpoint, _ = world.register_webhook()
    stored = [made(world, endpoint, number, **FAILED) for number in range(215)]
    made(world, endpoint, 300, state=DeliveryState.DELIVERED)
    world.advance(600)
    since, cursor, counts = START + timedelta(seconds=10), None, list[int]()
    while True:
        queued, cursor = delivery_reading.repeat_failed(world.services, endpoint, since, cursor)
        counts.append(queued)
        if cursor is None:
            break
    assert counts == [100, 100, 5]
    order = [json.loads(message.body)["deliveryId"] for message in world.queue.messages]
    assert order[:100] == sorted(order[:100])
    assert set(order) == {each.delivery_id for each in stored[10:]}
    left = delivery_reading.page(world.services, endpoint, Listing.FAILED, None, 100)[0]
    assert {each.delivery_id for each in left} == {each.delivery_id for each in stored[:10]}


def test_100_are_sent_again_in_a_few_calls(world: World) -> None:
    endpoint, _ = world.register_webhook()
    for number in range(100):
        made(world, endpoint, number, **FAILED)
    with counted(world.client) as calls:
        delivery_reading.repeat_failed(world.services, endpoint, START, None)
    assert calls.by_operation == {"Query": 4, "BatchGetItem": 1, "TransactWriteItems": 4, "GetItem": 1}


@pytest.mark.parametrize("years", [-100, 100])
def test_any_time_may_be_asked_for(years: int, world: World) -> None:
    endpoint, _ = world.register_webhook()
    made(world, endpoint, 0, **FAILED)
    world.advance(60)
    queued, _ = delivery_reading.repeat_failed(world.services, endpoint, START + timedelta(days=365 * years), None)
    assert queued == (1 if years < 0 else 0)


# --- over HTTP ---


@pytest.fixture
def shop(new_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A shop whose receiver answers 500 with a text."""

    def post(url: str, headers: object, body: bytes) -> PostResult:
        return PostResult(500, None, "no such order: <b>\u00e6</b>", 12)

    monkeypatch.setattr(running().sender, "post", post)
    return new_shop


def webhook(shop: Shop, credentials: dict[str, str] | None = None) -> str:
    reply = shop.api.request("POST", "/v1/webhook", {"url": URL}, credentials or shop.by_client)
    assert reply.status == 201
    return reply.json["id"]


def delivery_after_test(shop: Shop, webhook_id: str, attempts: int = 1) -> dict[str, Any]:
    """The webhook's newest delivery, after some of its attempts."""
    assert shop.send("POST", "/v1/webhook/test", {"eventType": "payment.partial"}).status == 201
    delivery = listed(shop, webhook_id).json["deliveries"][0]
    for attempt in range(attempts):
        jobs.retry_webhook(running(), json.dumps({"deliveryId": delivery["id"], "attempt": attempt}))
    return listed(shop, webhook_id).json["deliveries"][0]


def listed(shop: Shop, webhook_id: str, query: str = "", credentials: dict[str, str] | None = None) -> Reply:
    return shop.api.get(f"/v1/webhook/{webhook_id}/deliveries{query}", credentials or shop.by_client)


def test_a_delivery_shows_its_attempts_with_status_answer_and_duration(shop: Shop) -> None:
    id = webhook(shop)
    delivery_after_test(shop, id)
    (delivery,) = listed(shop, id, credentials={**shop.by_key, **shop.by_client}).json["deliveries"]
    assert set(delivery) == {"id", "webhookId", "event", "state", "isTest", "createdAt", "nextAttemptAt", "attempts", "body"}
    assert (delivery["event"], delivery["state"], delivery["isTest"]) == ("payment.partial", "pending", True)
    assert delivery["nextAttemptAt"] > delivery["createdAt"]
    (attempt,) = delivery["attempts"]
    assert (attempt["status"], attempt["error"]) == (500, None)
    assert (attempt["response"], attempt["durationMs"]) == ("no such order: <b>\u00e6</b>", 12)
    assert attempt["at"] >= delivery["createdAt"]
    assert delivery["body"]["event"] == "payment.partial"
    (alone,) = listed(shop, id).json["deliveries"]
    assert (alone["body"], alone["attempts"][0]["response"]) == (None, "")


def test_the_deliveries_of_an_event_are_those_to_each_webhook_of_its_owners_with_its_variants(shop: Shop) -> None:
    """Found by the request that the event is about; another account has no such event."""
    services, stranger = running(), Shop(shop.api)
    own, of_client = webhook(shop, shop.by_key), shop.api.request("POST", "/v1/webhook", {"url": f"{URL}/b"}, shop.by_client).json["id"]
    webhook(stranger)
    event = sample_event("payment.confirmed", shop.account_id, shop.client_id, event_context(services))
    event = replace(event, request_id="01ab", variants=(EventVariant("payment.confirmed.client_id"),))
    services.store.write(event, replace(event, event_id="another", request_id="01cd"))
    hooks = [*endpoint_store.endpoints(services.store, shop.account_id, None), *endpoint_store.endpoints(services.store, shop.account_id, shop.client_id)]
    delivery_store.change_all(services.store, [(None, each) for each in deliveries_of(event, hooks, services.clock())])
    (found,) = shop.api.get("/v1/webhook/events?requestId=01ab", shop.by_key).json["events"]
    path = f"/v1/webhook/events/{found['id']}/deliveries"
    shown = shop.api.get(path, shop.by_key).json["deliveries"]
    expected = [(id, kind) for kind in ("payment.confirmed", "payment.confirmed.client_id") for id in (own, of_client)]
    assert [(each["webhookId"], each["event"]) for each in shown] == expected
    assert shop.api.get(path, by_session(shop.account_id)).json["deliveries"] == shown
    for wrong, credentials in ((path, stranger.by_key), ("/v1/webhook/events/x/deliveries", shop.by_key)):
        assert shop.api.get(wrong, credentials).status == 404
    shop.api.request("DELETE", f"/v1/webhook/{own}", None, shop.by_key)
    assert {each["webhookId"] for each in shop.api.get(path, shop.by_key).json["deliveries"]} == {of_client}


def test_a_failed_delivery_is_found_by_its_state_and_sent_again(shop: Shop) -> None:
    id = webhook(shop)
    delivery = delivery_after_test(shop, id, attempts=4)
    assert (delivery["state"], delivery["nextAttemptAt"], len(delivery["attempts"])) == ("failed", None, 4)
    assert [each["id"] for each in listed(shop, id, "?state=failed").json["deliveries"]] == [delivery["id"]]
    assert listed(shop, id, "?state=waiting").json == {"deliveries": [], "nextCursor": None}
    again = shop.send("POST", f"/v1/webhook/{id}/deliveries/{delivery['id']}/redeliver")
    assert (again.status, again.json["id"], again.json["state"]) == (202, delivery["id"], "pending")
    assert shop.send("POST", f"/v1/webhook/{id}/deliveries/{delivery['id']}/redeliver").status == 409
    assert listed(shop, id, "?state=failed").json["deliveries"] == []
    for attempt in range(4):
        jobs.retry_webhook(running(), json.dumps({"deliveryId": delivery["id"], "attempt": attempt}))
    body = {"since": delivery["createdAt"]}
    assert shop.send("POST", f"/v1/webhook/{id}/redeliver", body).json == {"queued": 1, "nextCursor": None}
    assert shop.send("POST", f"/v1/webhook/{id}/redeliver", body).json == {"queued": 0, "nextCursor": None}


def test_pages_follow_each_other_by_cursor(shop: Shop) -> None:
    id = webhook(shop)
    ids = [delivery_after_test(shop, id, 0)["id"] for _ in range(5)]
    found, cursor = list[str](), ""
    for _ in range(3):
        page = listed(shop, id, f"?limit=2{cursor}").json
        found += [each["id"] for each in page["deliveries"]]
        cursor = f"&cursor={page['nextCursor']}"
    assert sorted(found) == sorted(ids) and page["nextCursor"] is None


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=101", "?limit=x", "?state=delivered", "?state=", "?cursor=x", "?cursor=%00", "?cursor="]
)
def test_a_query_that_has_no_meaning_is_400(query: str, shop: Shop) -> None:
    assert listed(shop, webhook(shop), query).status == 400


@pytest.mark.parametrize(
    "body",
    [{}, {"since": "yesterday"}, {"since": "2026-03-15T10:00:00"}, {"since": None}, {"since": []}]
    + [{"since": "2026-03-15T10:00:00Z", "cursor": "x"}, {"since": "9" * 400}],
    ids=str,
)
def test_a_time_that_is_not_clear_is_400(body: dict[str, Any], shop: Shop) -> None:
    assert shop.send("POST", f"/v1/webhook/{webhook(shop)}/redeliver", body).status == 400


def test_a_webhook_that_is_switched_off_is_sent_nothing_again(shop: Shop) -> None:
    id = webhook(shop)
    delivery = delivery_after_test(shop, id, attempts=4)
    shop.send("PUT", f"/v1/webhook/{id}")
    one = shop.send("POST", f"/v1/webhook/{id}/deliveries/{delivery['id']}/redeliver")
    failed = shop.send("POST", f"/v1/webhook/{id}/redeliver", {"since": delivery["createdAt"]})
    assert one.status == 409
    assert one.message == "The webhook is switched off: switch it on first"
    assert failed.status == 409


def test_nobody_sees_or_sends_the_deliveries_of_another(shop: Shop) -> None:
    stranger, id = Shop(shop.api), webhook(shop)
    delivery = delivery_after_test(shop, id, attempts=4)
    paths = (f"/v1/webhook/{id}/deliveries/{delivery['id']}/redeliver", f"/v1/webhook/{id}/redeliver")
    for credentials in (stranger.by_client, stranger.by_key, shop.by_key, by_session(stranger.account_id)):
        assert listed(shop, id, "", credentials).status == 404
        for path in paths:
            assert shop.api.request("POST", path, {"since": iso(START)}, credentials).status == 404
    assert listed(shop, id).json["deliveries"][0]["state"] == "failed"
    own = webhook(stranger)
    for wrong in (own, "x"):
        path = f"/v1/webhook/{wrong}/deliveries/{delivery['id']}/redeliver"
        assert stranger.send("POST", path).status == 404, "a delivery of another webhook"


def test_a_session_reads_and_repeats_the_deliveries_of_its_client_ids_whether_it_names_them_or_not(shop: Shop) -> None:
    id, session = webhook(shop), by_session(shop.account_id)
    delivery = delivery_after_test(shop, id, attempts=4)
    named = f"?clientId={shop.client_id}"
    for rest in ("", named):
        assert [each["id"] for each in listed(shop, id, rest, session).json["deliveries"]] == [delivery["id"]]
    path = f"/v1/webhook/{id}/deliveries/{delivery['id']}/redeliver"
    assert shop.api.request("POST", path + named, None, session).status == 202
    assert shop.api.request("POST", path, None, session).status == 409, "in progress"
    body = {"since": iso(START), "clientId": shop.client_id}
    assert shop.api.request("POST", f"/v1/webhook/{id}/redeliver", body, session).status == 202


def test_the_secret_and_the_signature_are_in_no_delivery(shop: Shop) -> None:
    created = shop.send("POST", "/v1/webhook", {"url": URL}).json
    delivery_after_test(shop, created["id"])
    assert created["secret"] not in listed(shop, created["id"]).body.decode()


def test_the_answer_of_a_receiver_is_in_no_log(shop: Shop) -> None:
    delivery_after_test(shop, webhook(shop))
    assert "no such order" not in shop.api.log.getvalue()


def test_an_attempt_without_a_response_says_why() -> None:
    shown = AttemptAnswer.of(Attempt(START, None, "no answer in time", "", 5000), True)
    assert (shown.status, shown.error, shown.response) == (None, "no answer in time", "")
