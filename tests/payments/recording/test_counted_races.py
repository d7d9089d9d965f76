"""Processes that work for one account at the same time, on the local cloud: each request and payment is counted once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.recording import flows
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.records import Filters
from chalicelib.payments.search.requests import listing
from chalicelib.payments.search.requests.listing import Wanted
from infra.local.cloud import Cloud
from tests.fakes.world import PAYEE, PREFIX, World, draft
from tests.support.rehearsed import rehearsed

LINKS, PAYMENTS = 6, 4


@pytest.fixture
def world(cloud: Cloud) -> World:
    cloud.apply_template(PREFIX)
    world = World(cloud.client("dynamodb"), seed=4_711)
    world.account_id = "counted"
    return world


def numbers(world: World) -> dict[str, int]:
    """How many requests the account has, by status, of those that it has any of; as many as are listed."""
    found = {}
    for status in RequestStatus:
        page = listing.page(world.services, Wanted(world.account_id, status=status), None, 0, 100).page
        assert page.total == len(page.records)
        if page.total:
            found[str(status)] = page.total
    return found


@rehearsed
def test_recorders_of_one_account_count_every_payment_once_and_a_fork_takes_it_back(cloud: Cloud, world: World) -> None:
    world.scan()
    items = (Item("5", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia"),) * PAYMENTS

    def create(_: int) -> PayableLink:
        services = world.start(cloud.client("dynamodb"))
        return links.create(services, world.owner, draft(items=items, reference="INV-1"))

    with ThreadPoolExecutor(LINKS) as pool:
        made = list(pool.map(create, range(LINKS)))
    assert numbers(world) == {"created": LINKS * PAYMENTS}
    world.chain.mine()
    for link in made:
        for request in link.requests:
            world.chain.pay_too(request)
    world.chain.mine(2)
    scanning.scan(world.services, "sepolia")

    def record(token: str) -> int:
        return flows.record_payable(world.start(cloud.client("dynamodb")), token)

    with ThreadPoolExecutor(2 * LINKS) as pool:  # two recorders for each link
        recorded = sum(pool.map(record, [link.link.token for link in made] * 2))
    assert recorded == LINKS * PAYMENTS
    assert numbers(world) == {"paid": LINKS * PAYMENTS}
    for filters in (Filters("counted", type="direct"), Filters("counted", reference="INV-1"), Filters("counted", payee=PAYEE.lower())):
        page = payment_search.page_at(world.services, filters, 0, 100)
        assert page.total == len(page.payments) == LINKS * PAYMENTS
    world.chain.fork(4)
    world.chain.mine(5)
    world.scan()
    assert payment_search.page_at(world.services, Filters("counted", type="direct"), 0, 100).total == 0
    assert numbers(world) == {"created": LINKS * PAYMENTS}
