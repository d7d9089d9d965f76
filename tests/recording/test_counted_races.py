"""Recorders that work for one account at the same time, on the local cloud: every payment is counted once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.recording import flows as recording
from chalicelib.requests.creation import Item
from chalicelib.scanning import flows as scanning
from chalicelib.search.payments import flows
from chalicelib.search.payments.records import Filters
from infra.local.cloud import Cloud
from tests.fakes.world import PAYEE, PREFIX, World

LINKS, PAYMENTS = 6, 4


@pytest.fixture
def world(cloud: Cloud) -> World:
    cloud.apply_template(PREFIX)
    world = World(cloud.client("dynamodb"), seed=4_711)
    world.account_id = "counted"
    return world


def test_recorders_of_one_account_count_every_payment_once_and_a_fork_takes_it_back(cloud: Cloud, world: World) -> None:
    world.scan()
    items = (Item("5", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia"),) * PAYMENTS
    made = [world.create_link(items=items, reference="INV-1") for _ in range(LINKS)]
    world.chain.mine()
    for link in made:
        for request in link.requests:
            world.chain.pay_too(request)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")

    def record(token: str) -> int:
        return recording.record(world.start(cloud.client("dynamodb")), token)

    with ThreadPoolExecutor(2 * LINKS) as pool:  # two recorders for each link
        recorded = sum(pool.map(record, [link.link.token for link in made] * 2))
    assert recorded == LINKS * PAYMENTS
    for filters in (Filters("counted", type="direct"), Filters("counted", reference="INV-1"), Filters("counted", payee=PAYEE.lower())):
        page = flows.page_at(world.services, filters, 0, 100)
        assert page.total == len(page.payments) == LINKS * PAYMENTS
    world.chain.fork(4)
    world.chain.mine(5)
    world.scan()
    assert flows.page_at(world.services, Filters("counted", type="direct"), 0, 100).total == 0
