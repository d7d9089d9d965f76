"""Publishing events: to every webhook once, however many there are, wherever a process dies, and whatever fails beside."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.webhooks import flows, publisher, store
from chalicelib.webhooks.deliveries.records import Delivery, ListEntry
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Choices, Endpoint
from chalicelib.webhooks.records import Event, EventVariant
from infra.documents.event_models import sample
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Tripwire
from tests.fakes.world import PREFIX, START, World, in_process_aws
from tests.support.rehearsed import few


def event(number: int = 0, **changes: Any) -> Event:
    made = Event(f"01KJM9CZ33EVENT000000{number:05}", "payment.confirmed", "acct", "cli_shop", "{}", START, False)
    return replace(made, **changes)


def store_endpoints(world: World, count: int, client_id: str | None = "cli_shop") -> None:
    """More than may be registered today, as an earlier version let an owner have."""
    for number in range(count):
        url = f"https://shop.example/{client_id}/{number}"
        world.services.store.write(
            Endpoint(f"w{client_id}{number:03}", "acct", client_id, url, f"w{client_id}{number:03}:secret", True, START, Mode.API_KEY)
        )


def announce(world: World, *events: Event, services: Services | None = None) -> None:
    publisher.publish_events(services or world.services, [each.event_id for each in events])


def is_announced(world: World, each: Event) -> bool:
    found = store.event(world.services.store, each.event_id)
    assert found is not None
    return found.published


@pytest.mark.parametrize("count", [0, 1, 33, 34, 150])
def test_an_event_reaches_every_webhook_however_many_there_are(world: World, count: int) -> None:
    store_endpoints(world, count)
    world.services.store.write(event())
    announce(world, event())
    assert is_announced(world, event())
    world.drain()
    assert Counter(posted.url for posted in world.receiver.posted) == Counter(
        f"https://shop.example/cli_shop/{number}" for number in range(count)
    )


def test_webhooks_are_read_once_per_owner_and_message(world: World) -> None:
    store_endpoints(world, 2)
    store_endpoints(world, 1, None)
    events = [event(number) for number in range(10)]
    world.services.store.write(*events)
    with counted(world.client) as calls:
        announce(world, *events)
    assert calls.by_operation == {"BatchGetItem": 1, "Query": 2, "TransactWriteItems": 10}
    world.drain()
    assert len(world.receiver.posted) == 10 * 3


def test_a_recorder_tells_ten_events_per_message_and_never_hears_of_a_failure(world: World) -> None:
    events = [event(number) for number in range(23)] + [event(99, account_id="another")]
    flows.queue_publishing(world.services, events)
    bodies = [json.loads(message.body)["eventIds"] for message in world.queue.messages]
    assert [len(each) for each in bodies] == [10, 10, 3, 1]
    assert [id for each in bodies for id in each] == [each.event_id for each in events]

    def refuse(*_: object) -> None:
        raise ConnectionError("the queue is away")

    world.queue.send = refuse  # type: ignore[method-assign]
    flows.queue_publishing(world.services, events)


def test_no_event_is_no_message(world: World) -> None:
    flows.queue_publishing(world.services, [])
    assert world.queue.messages == []


def test_an_inactive_webhook_hides_no_active_one_with_the_same_url(world: World) -> None:
    url = "https://shop.example/hook"
    of_client, _ = endpoints.register(world.services, world.actor, world.client_id, Mode.API_KEY, url)
    endpoints.register(world.services, world.actor, None, Mode.API_KEY, url)
    endpoints.change(world.services, world.actor, of_client, False, of_client.events, False)
    world.services.store.write(event())
    announce(world, event())
    world.drain()
    assert [posted.url for posted in world.receiver.posted] == [url]


def test_an_event_that_nobody_chose_is_announced_without_a_delivery(world: World) -> None:
    register = endpoints.register
    register(world.services, world.actor, world.client_id, Mode.API_KEY, "https://shop.example/refunds", Choices(["payment.refunded"]))
    world.services.store.write(event())
    announce(world, event())
    assert is_announced(world, event()) and world.queue.messages == []


def test_each_webhook_hears_the_variants_that_it_chose(world: World) -> None:
    wanted = {"core": ["payment.confirmed"], "variants": ["payment.confirmed.*"], "all": ["*"], "none": ["payment.failed"]}
    for name, events in wanted.items():
        endpoints.register(world.services, world.actor, world.client_id, Mode.API_KEY, f"https://shop.example/{name}", Choices(events))
    core, client, checkout = (f"payment.confirmed{suffix}" for suffix in ("", ".client_id", ".checkout"))
    variants = tuple(EventVariant(kind, json.dumps(sample(kind))) for kind in (client, checkout))
    each = event(body=json.dumps(sample(core)), variants=variants)
    world.services.store.write(each)
    announce(world, each)
    world.drain()
    heard = [(posted.url.rsplit("/", 1)[1], posted.event) for posted in world.receiver.posted]
    assert sorted(heard) == [
        *(("all", core), ("all", checkout), ("all", client), ("core", core)),
        *(("variants", checkout), ("variants", client)),
    ]


def test_a_choice_that_changes_while_an_event_is_announced_doubles_nothing(world: World) -> None:
    """A process that died has written some deliveries; the next one finds other choices, and keeps what was written."""
    store_endpoints(world, 60)
    world.services.store.write(event())
    services = world.start(FragileClient(world.client, Tripwire(4, before=False)))
    with pytest.raises(Crash):
        announce(world, event(), services=services)
    for name in ("wcli_shop000", "wcli_shop059"):
        endpoint = endpoints.own_endpoint(world.services, "acct", "cli_shop", name, only_public=False)
        endpoints.change(world.services, world.actor, endpoint, True, ["payment.failed"], False)
    announce(world, event())
    assert is_announced(world, event())
    world.advance(60)
    publisher.sweep(world.services)
    world.drain()
    urls = Counter(posted.url for posted in world.receiver.posted)
    assert set(urls.values()) == {1} and len(urls) == 59, "the first was written before, the last was not"


def test_two_active_webhooks_with_one_url_get_a_delivery_each(world: World) -> None:
    for client_id in (world.client_id, None):
        endpoints.register(world.services, world.actor, client_id, Mode.API_KEY, "https://shop.example/hook")
    world.services.store.write(event())
    announce(world, event())
    world.drain()
    assert len({posted.delivery for posted in world.receiver.posted}) == 2


def test_an_event_that_cannot_be_announced_keeps_no_other_back(world: World) -> None:
    store_endpoints(world, 1)
    unreadable = {"pk": {"S": "SCOPE#broken"}, "sk": {"S": "ENDPOINT#1"}, "created_at": {"S": "no time"}}
    world.client.put_item(TableName=f"{PREFIX}-webhooks", Item=unreadable)
    world.services.store.write(event(1), event(2, account_id="broken"), event(3))
    with pytest.raises(SweepIncomplete):
        announce(world, event(1), event(2), event(3))
    assert [is_announced(world, event(number)) for number in (1, 2, 3)] == [True, False, True]


def test_the_log_names_an_event_that_fails_and_never_has_its_body(world: World) -> None:
    unreadable = {"pk": {"S": "SCOPE#acct"}, "sk": {"S": "ENDPOINT#1"}, "created_at": {"S": "no time"}}
    world.client.put_item(TableName=f"{PREFIX}-webhooks", Item=unreadable)
    failing = event(body='{"payerIdentifier":"ann@payer.example"}')
    world.services.store.write(failing)
    log = StringIO()
    with pytest.raises(SweepIncomplete):
        announce(world, failing, services=replace(world.services, log=Logger(service="announcing", stream=log)))
    assert json.loads(log.getvalue())["record"] == failing.event_id
    assert "ann@payer.example" not in log.getvalue()


def test_an_event_that_is_announced_or_gone_is_left_alone(world: World) -> None:
    store_endpoints(world, 1)
    world.services.store.write(event())
    for _ in range(3):
        announce(world, event(), event(5))
    assert len(world.queue.messages) == 1


def test_a_sweep_between_the_read_and_the_write_changes_nothing(world: World) -> None:
    """The sweep notes that it queued the event; the announcer decides again on what is stored."""
    store_endpoints(world, 40)
    world.services.store.write(event())
    stale = store.events(world.services.store, [event().event_id])
    world.advance(60)
    assert publisher.sweep(world.services) == 1
    publisher._publish(world.services, stale[0], publisher._receivers(world.services))
    assert is_announced(world, event())
    world.drain()
    assert len({posted.delivery for posted in world.receiver.posted}) == len(world.receiver.posted) == 40


@pytest.mark.parametrize("before", few([False], [True, False]), ids=["before", "after"])
def test_nothing_is_lost_or_doubled_wherever_the_announcer_dies(before: bool) -> None:
    """40 webhooks take two transactions."""

    def run(wire: Tripwire) -> None:
        with in_process_aws() as client:
            world = World(client)
            store_endpoints(world, 40)
            world.services.store.write(event())
            services = world.start(FragileClient(client, wire), FragileQueue(world.queue, wire))
            with suppress(Crash):
                announce(world, event(), services=services)
            for _ in range(3):
                world.advance(90)
                publisher.sweep(world.services)
                world.drain()
            assert is_announced(world, event())
            urls = Counter(posted.url for posted in world.receiver.posted)
            assert len(urls) == 40 and set(urls.values()) == {1}, f"died at call {wire.calls}"

    wire = Tripwire()
    run(wire)
    assert wire.calls == 1 + 2 + 2 + 1, "the event, its webhooks, transactions, messages"
    for fatal in range(1, wire.calls + 1):
        run(Tripwire(fatal, before))


def test_a_delivery_that_a_dead_process_wrote_is_recognised(world: World) -> None:
    """Its webhooks were others then, so that its transactions held other deliveries than those of the next process."""
    store_endpoints(world, 60)
    world.services.store.write(event())
    services = world.start(FragileClient(world.client, Tripwire(4, before=False)))
    with pytest.raises(Crash):
        announce(world, event(), services=services)
    endpoints.delete(
        world.services,
        world.actor,
        endpoints.own_endpoint(world.services, "acct", "cli_shop", "wcli_shop000", only_public=False),
    )
    announce(world, event())
    assert is_announced(world, event())
    items = world.client.scan(TableName=f"{PREFIX}-webhooks")["Items"]
    assert sum(each["sk"]["S"] == "DELIVERY" for each in items) == 60
    world.drain()
    assert len({posted.url for posted in world.receiver.posted}) == len(world.receiver.posted) == 59


def test_the_sweep_queues_what_was_not_told_once_a_minute_and_the_longest_waiting_first(world: World) -> None:
    store_endpoints(world, 1)
    world.services.store.write(event(1), event(2, published=True))
    assert publisher.sweep(world.services) == 0, "it may still be in progress"
    world.now += publisher.GRACE + timedelta(milliseconds=1)
    assert publisher.sweep(world.services) == 1
    assert publisher.sweep(world.services) == 0, "it waits in the queue"
    assert [json.loads(message.body) for message in world.queue.messages] == [{"eventIds": [event(1).event_id]}]
    world.drain()
    assert len(world.receiver.posted) == 1


def test_a_sweep_ends_in_time_and_tells_what_it_found(world: World) -> None:
    store_endpoints(world, 1)
    world.services.store.write(*(event(number) for number in range(30)))
    world.advance(60)
    slow = replace(world.services, clock=lambda: _later(world))
    assert 0 < publisher.sweep(slow) < 30
    world.drain()
    assert world.receiver.posted


def _later(world: World) -> Any:
    world.advance(1)
    return world.now


def test_a_delivery_is_in_the_list_of_its_webhook_from_the_beginning(world: World) -> None:
    store_endpoints(world, 1)
    world.services.store.write(event())
    announce(world, event())
    items = world.client.scan(TableName=f"{PREFIX}-webhooks")["Items"]
    (entry,) = [each for each in items if each["pk"]["S"].startswith("DELIVERIES#")]
    (delivery,) = [each for each in items if each["sk"]["S"] == Delivery.KEY.kind]
    assert entry["sk"] == delivery["delivery_id"]
    assert entry["pk"]["S"].startswith(f"DELIVERIES#{delivery['webhook_id']['S']}#ALL#")
    assert entry["ttl"] == delivery["ttl"]
    assert ListEntry.KEY.table == Delivery.KEY.table
