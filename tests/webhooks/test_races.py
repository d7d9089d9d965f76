"""Many at once on a real local cloud: exactly as many webhooks as there may be, and one delivery of an event to each."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete, WriteConflict
from chalicelib.webhooks import publisher
from chalicelib.webhooks.deliveries.store import CHUNK
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.signature_keys import flows as signature_keys
from chalicelib.webhooks.signature_keys.records import SignatureKeys
from infra.local.cloud import Cloud
from tests.fakes.world import START, World
from tests.support.rehearsed import few, rehearsed

REGISTRATIONS = 50
"""More than twice as many as there may be."""
WEBHOOKS = 70
"""Their deliveries take three transactions."""
_worlds = itertools.count()


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own account on the shared cloud."""
    number = next(_worlds)
    world = World(cloud.client("dynamodb"), seed=1000 + number)
    world.account_id, world.client_id = f"hooks{number}", f"cli_hooks{number}"
    return world


def in_parallel(count: int, act: Callable[[Services, int], Any], cloud: Cloud, world: World) -> list[Any]:
    """Runs `act` in threads that start together; refusals are results."""
    barrier = threading.Barrier(count)
    services = [world.start(cloud.client("dynamodb")) for _ in range(10)]

    def run(number: int) -> Any:
        barrier.wait()
        try:
            return act(services[number % len(services)], number)
        except (BadRequest, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("existing", few([MAX_ENDPOINTS - 2], [0, MAX_ENDPOINTS - 2, MAX_ENDPOINTS + 1]))
def test_50_registrations_at_once_leave_exactly_as_many_webhooks_as_there_may_be(
    existing: int, cloud: Cloud, world: World
) -> None:
    """Also where an earlier version wrote some, or more than that."""
    for number in range(existing):
        old = Endpoint(f"old{number:03}", world.account_id, world.client_id, f"https://old/{number}", "", True, START, Mode.API_KEY)
        world.services.store.write(replace(old, created_with=Mode.API_KEY))

    def register(services: Services, number: int) -> Endpoint:
        return endpoints.register(services, world.actor, world.client_id, Mode.API_KEY, f"https://shop.example/{number}")[0]

    results = in_parallel(REGISTRATIONS, register, cloud, world)
    left = max(0, MAX_ENDPOINTS - existing)
    assert sum(isinstance(result, Endpoint) for result in results) == left
    messages = {str(result) for result in results if not isinstance(result, Endpoint)}
    assert messages == {f"No more than {MAX_ENDPOINTS} webhooks: delete one first"}
    assert len(endpoints.list_endpoints(world.services, world.account_id, world.client_id, only_public=False)) == left + existing


@rehearsed
def test_registrations_by_a_client_id_alone_and_by_a_key_at_once_leave_as_many_of_each(cloud: Cloud, world: World) -> None:
    """Strangers and the merchant write at the same time: neither takes a place of the other."""

    def register(services: Services, number: int) -> Endpoint:
        created_with = Mode.CLIENT_ID if number % 2 else Mode.API_KEY
        url = f"https://shop.example/{number // 2}"
        return endpoints.register(services, world.actor, world.client_id, created_with, url)[0]

    results = in_parallel(REGISTRATIONS, register, cloud, world)
    made = Counter(result.created_with for result in results if isinstance(result, Endpoint))
    assert made == {Mode.CLIENT_ID: MAX_ENDPOINTS, Mode.API_KEY: MAX_ENDPOINTS}


def test_10_webhooks_at_once_that_choose_signatures_make_one_key(cloud: Cloud, world: World) -> None:
    for known in filter(None, [world.services.store.get(SignatureKeys, SignatureKeys.KEY.of())]):
        world.services.store.write(Delete(known))
    results = in_parallel(10, lambda services, _: signature_keys.ensure_key(services), cloud, world)
    assert results == [None] * 10
    assert len(signature_keys.list_published(world.services)) == 1


def test_a_deleted_webhook_makes_room_for_one(cloud: Cloud, world: World) -> None:
    made = [
        endpoints.register(world.services, world.actor, None, Mode.API_KEY, f"https://shop.example/{number}")[0]
        for number in range(MAX_ENDPOINTS)
    ]
    endpoints.delete(world.services, world.actor, made[3])

    def register(services: Services, number: int) -> Endpoint:
        return endpoints.register(services, world.actor, None, Mode.API_KEY, f"https://shop.example/new/{number}")[0]

    results = in_parallel(10, register, cloud, world)
    assert sum(isinstance(result, Endpoint) for result in results) == 1


@rehearsed
def test_4_announcers_of_one_event_make_one_delivery_for_each_of_70_webhooks(cloud: Cloud, world: World) -> None:
    assert WEBHOOKS > 2 * CHUNK
    ids = [f"{world.account_id}w{number}" for number in range(WEBHOOKS)]
    world.services.store.put_many(
        Endpoint(webhook_id, world.account_id, None, f"https://shop.example/{webhook_id}", f"{webhook_id}:secret", True, START, Mode.API_KEY)
        for webhook_id in ids
    )
    event = Event(f"{world.account_id}-event", "payment.confirmed", world.account_id, None, "{}", START, False)
    world.services.store.write(event)
    in_parallel(4, lambda services, _: publisher.publish_events(services, [event.event_id]), cloud, world)
    publisher.publish_events(world.services, [event.event_id])
    world.drain()
    urls = Counter(posted.url for posted in world.receiver.posted)
    assert len(urls) == WEBHOOKS and set(urls.values()) == {1}
