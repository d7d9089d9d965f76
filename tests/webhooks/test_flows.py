"""Deliveries: when attempts happen, who hears what, and what ends them."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks import publisher
from chalicelib.webhooks.deliveries import flows as deliveries
from chalicelib.webhooks.deliveries.rules import LEASE
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS
from tests.bench.calls import counted
from tests.fakes.world import START, World


def send_test(world: World, kind: str = "payment.confirmed") -> None:
    deliveries.send_test(world.services, world.account_id, world.client_id, kind, only_public=False)


def test_a_receiver_that_always_fails_is_tried_at_0_1_6_and_21_seconds(world: World) -> None:
    world.register_webhook()
    world.receiver.status = 500
    send_test(world)
    world.drain()
    seconds = [(posted.at - START).total_seconds() for posted in world.receiver.posted]
    assert seconds == [0, 1, 6, 21]
    assert [p.headers["x-service-retry-count"] for p in world.receiver.posted] == ["0", "1", "2", "3"]
    assert len({posted.delivery for posted in world.receiver.posted}) == 1
    world.advance(3600)
    assert publisher.sweep(world.services) == 0


@pytest.mark.parametrize("status", [201, 204, 299])
def test_any_2xx_ends_a_delivery(world: World, status: int) -> None:
    world.register_webhook()
    world.receiver.status = status
    send_test(world)
    world.drain()
    assert len(world.receiver.posted) == 1


@pytest.mark.parametrize("status", [301, 404, 429, 500, None])
def test_any_other_answer_or_none_is_tried_again(world: World, status: int | None) -> None:
    world.register_webhook()
    world.receiver.status = status
    send_test(world)
    world.drain()
    assert len(world.receiver.posted) == 4


def test_a_delivery_carries_every_header_in_both_brands(world: World) -> None:
    world.register_webhook()
    send_test(world)
    world.drain()
    headers = world.receiver.posted[0].headers
    for brand in ("service", "request-network"):
        assert len(headers[f"x-{brand}-signature"]) == 64
        assert len(headers[f"x-{brand}-delivery"]) == 26
        assert headers[f"x-{brand}-retry-count"] == "0"
        assert headers[f"x-{brand}-test"] == "true"
    assert headers["content-type"] == "application/json"


def test_duplicated_messages_make_one_attempt(world: World) -> None:
    world.register_webhook()
    send_test(world)
    world.queue.messages *= 3
    world.drain()
    assert len(world.receiver.posted) == 1


def test_an_attempt_whose_worker_died_is_made_again_after_its_lease(world: World) -> None:
    world.register_webhook()
    send_test(world)
    message = world.queue.messages[0]

    def die(*_: object) -> None:
        raise SystemExit

    post, world.receiver.post = world.receiver.post, die  # type: ignore[method-assign,assignment]
    with pytest.raises(SystemExit):
        world.drain()
    world.receiver.post = post  # type: ignore[method-assign]
    world.queue.messages.clear()
    world.consume(message, world.services)
    assert world.receiver.posted == [], "the lease still holds"
    world.advance(LEASE.total_seconds() - 1)
    assert publisher.sweep(world.services) == 0 and world.queue.messages == []
    world.advance(1)
    world.consume(message, world.services)
    assert len(world.receiver.posted) == 1


def test_a_sweep_leaves_an_attempt_to_the_worker_that_has_claimed_it_late_and_queues_it_after_the_lease(
    world: World,
) -> None:
    world.register_webhook()
    send_test(world)
    (message,) = world.queue.messages
    world.advance(publisher.GRACE.total_seconds() + 5)  # the queue is slow
    swept = list[int]()

    def die(*_: object) -> None:
        swept.append(publisher.sweep(world.services))
        raise SystemExit

    post, world.receiver.post = world.receiver.post, die  # type: ignore[method-assign,assignment]
    with pytest.raises(SystemExit):
        world.consume(message, world.services)
    world.receiver.post = post  # type: ignore[method-assign]
    assert swept == [0]
    world.queue.messages.clear()
    world.advance(LEASE.total_seconds())
    assert publisher.sweep(world.services) == 1
    world.drain()
    assert len(world.receiver.posted) == 1


def test_a_deleted_or_inactive_webhook_gets_no_further_attempt(world: World) -> None:
    endpoint, _ = world.register_webhook()
    world.receiver.status = 500
    send_test(world)
    first = world.queue.messages.pop()
    world.consume(first, world.services)
    endpoint = endpoints.change(world.services, world.actor, endpoint, False, endpoint.events, False)
    world.drain()
    assert len(world.receiver.posted) == 1
    endpoints.delete(world.services, world.actor, endpoint)
    with pytest.raises(NotFound, match="No active webhooks found"):
        send_test(world)


def test_a_platform_webhook_hears_the_events_of_all_client_ids_and_a_foreign_one_none(world: World) -> None:
    endpoints.register(world.services, world.actor, None, Mode.API_KEY, "https://platform.example/hook")
    endpoints.register(world.services, world.actor, "cli_other", Mode.API_KEY, "https://other.example/hook")
    endpoints.register(world.services, replace(world.actor, account_id="another"), None, Mode.API_KEY, "https://stranger.example/hook")
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.drain()
    assert {posted.url for posted in world.receiver.posted} == {
        "https://platform.example/hook",
        "https://shop.example/hook",
    }


def test_a_url_has_one_webhook_and_may_have_one_again_after_deletion(world: World) -> None:
    endpoint, _ = world.register_webhook()
    with pytest.raises(BadRequest, match="Webhook already exists"):
        world.register_webhook()
    endpoints.delete(world.services, world.actor, endpoint)
    world.register_webhook()


def test_an_account_lists_the_webhooks_of_all_its_client_ids_in_three_calls(world: World) -> None:
    made = []
    for number, client_id in enumerate(["cli_a", None, "cli_b", "cli_a", "cli_c"]):
        world.advance(1)
        made += endpoints.register(world.services, world.actor, client_id, Mode.API_KEY, f"https://shop.example/{number}")[:1]
    with counted(world.client) as calls:
        assert endpoints.list_all(world.services, world.account_id) == tuple(made)
    assert calls.by_operation == {"Query": 2, "BatchGetItem": 1}
    for endpoint, reads in ((made[1], 1), (made[2], 2)):
        with counted(world.client) as calls:
            assert endpoints.endpoint_of_any(world.services, world.account_id, endpoint.webhook_id) == endpoint
        assert sum(calls.by_operation.values()) == reads


def test_the_number_of_webhooks_is_bounded(world: World) -> None:
    for number in range(MAX_ENDPOINTS):
        endpoints.register(world.services, world.actor, world.client_id, Mode.API_KEY, f"https://shop.example/{number}")
    with pytest.raises(BadRequest, match="delete one first"):
        world.register_webhook()


def test_a_body_is_what_javascript_would_serialise_again(world: World) -> None:
    world.register_webhook()
    payment = world.create_link(reference="Grüße / \"x\" \u2028 \x1f")
    world.chain.pay(payment.requests[0])
    world.scan()
    world.drain()
    text = world.receiver.posted[0].body.decode()
    parsed = json.loads(text)
    assert text == json.dumps(parsed, separators=(",", ":"), ensure_ascii=False)
    numbers = {name for name, value in parsed.items() if isinstance(value, float | int) and not isinstance(value, bool)}
    assert numbers == {"sequence"}


def test_the_sweep_leaves_what_is_young_to_its_writer(world: World) -> None:
    world.register_webhook()
    send_test(world)
    world.queue.messages.clear()
    assert publisher.sweep(world.services) == 0
    world.now += publisher.GRACE + timedelta(milliseconds=1)
    assert publisher.sweep(world.services) == 1
    world.drain()
    assert len(world.receiver.posted) == 1
