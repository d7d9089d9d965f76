"""Many at once on a real local cloud: one payment, one claim, one announcement, one webhook a URL."""

import itertools
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib.aws.store import Store, WriteConflict
from chalicelib.aws.tables import PAYMENTS, payments_partition
from chalicelib.core.credentials import Account
from chalicelib.core.errors import BadRequest
from chalicelib.core.links import LinkStatus, Payment
from chalicelib.flows import detection, webhooks
from chalicelib.services import Services
from infra.local.cloud import Cloud
from tests.fakes.world import PREFIX, START, World

PARALLEL = 20
_worlds = itertools.count()


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own accounts on the shared cloud; each starts with an unread chain."""
    number = next(_worlds)
    client = cloud.client("dynamodb")
    client.delete_item(TableName=f"{PREFIX}-ops", Key={"pk": {"S": "CHAIN#sepolia"}, "sk": {"S": "CURSOR"}})
    world = World(client, seed=number)
    world.account_id, world.client_id = f"acct{number}", f"cli_shop{number}"
    return world


def in_parallel(act: Callable[[Services], Any], cloud: Cloud, world: World) -> list[Any]:
    """Runs `act` in 20 threads that start together, each as a process of its own; exceptions are results."""
    barrier = threading.Barrier(PARALLEL)

    def run(_: int) -> Any:
        services = world.start(cloud.client("dynamodb"))
        barrier.wait()
        try:
            return act(services)
        except (BadRequest, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, range(PARALLEL)))


def test_20_parallel_scans_of_one_log_give_one_payment(cloud: Cloud, world: World) -> None:
    world.register_webhook()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.chain.mine(2)
    results = in_parallel(lambda services: detection.scan(services, "sepolia"), cloud, world)
    assert sum(result for result in results if isinstance(result, int)) <= 1
    request_id = payment.requests[0].request_id
    assert len(world.services.store.query(Payment, PAYMENTS, payments_partition(request_id))) == 1
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(payment).requests[0].paid == payment.requests[0].amount
    world.drain()
    assert sorted(world.receiver.events) == [
        "payment.confirmed",
        "payment.confirmed.checkout",
        "payment.confirmed.client_id",
    ]


def test_parallel_payments_of_one_request_are_all_counted(cloud: Cloud, world: World) -> None:
    payment = world.create_link()
    for _ in range(5):
        world.chain.pay(payment.requests[0], amount=1_000_000)
    world.chain.mine(2)
    in_parallel(lambda services: detection.scan(services, "sepolia"), cloud, world)
    detection.scan(world.services, "sepolia")
    assert world.load(payment).requests[0].paid == 5_000_000


def test_an_attempt_is_made_by_one_of_20_workers(cloud: Cloud, world: World) -> None:
    world.register_webhook()
    webhooks.send_test(world.services, world.account_id, world.client_id, "payment.confirmed")
    message = json.loads(world.queue.messages[0].body)
    in_parallel(lambda services: webhooks.deliver(services, message["deliveryId"], 0), cloud, world)
    assert len(world.receiver.posted) == 1


def test_one_url_gets_one_webhook_from_20_registrations(cloud: Cloud, world: World) -> None:
    results = in_parallel(
        lambda services: webhooks.register(services, world.actor, world.client_id, "https://shop.example/hook"),
        cloud,
        world,
    )
    assert sum(isinstance(result, BadRequest) for result in results) == PARALLEL - 1
    assert len(webhooks.list_endpoints(world.services, world.account_id, world.client_id)) == 1


def test_of_20_writers_of_one_version_one_wins(cloud: Cloud, world: World) -> None:
    account = Account(f"race{world.account_id}", "n", START)
    results = in_parallel(lambda services: services.store.write(account), cloud, world)
    assert sum(isinstance(result, WriteConflict) for result in results) == PARALLEL - 1


def test_a_store_reads_what_it_wrote_on_the_real_template(cloud: Cloud, world: World) -> None:
    payment = world.create_link()
    fresh = Store(PREFIX, cloud.client("dynamodb"))
    assert fresh.query(Payment, PAYMENTS, payments_partition(payment.requests[0].request_id)) == ()
    assert world.load(payment).requests[0].amount == 12_500_000
