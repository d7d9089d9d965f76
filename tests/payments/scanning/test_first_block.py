"""Where the reading of a network begins: before what its first request can be paid by, however late that is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.scanning import flows, store
from chalicelib.payments.scanning.first_block import first_cursor
from chalicelib.platform.services import Services
from tests.bench.calls import counted
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.lying_node import Liar, Silent, served, served_beside
from tests.fakes.world import START, World, draft, in_process_aws


@pytest.fixture
def world() -> Iterator[World]:
    """A merchant before any request; a block of the chain takes a second."""
    with in_process_aws() as client:
        yield timed(World(client))


def cold(world: World) -> Services:
    """A process that has created nothing yet."""
    return replace(world.start(), read_networks=set())


def timed(world: World) -> World:
    world.services = cold(world)
    world.chain.clock = world.clock
    pass_time(world, 3000)
    return world


def pass_time(world: World, seconds: int) -> None:
    for _ in range(seconds):
        world.advance(1)
        world.chain.mine()


def scanned_to(world: World, network: str = "sepolia") -> int:
    found = store.cursor(world.services.store, network)
    assert found is not None
    return found.scanned_to


def test_a_payment_long_before_the_first_tick_is_found(world: World) -> None:
    payment = world.create_link(fee_percentage=None, fee_address=None)
    world.advance(1)
    world.chain.pay(payment.requests[0])
    pass_time(world, 9000)  # several ranges of logs
    for _ in range(3):
        world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def a_day_earlier(chain: FakeChain) -> Liar:
    def said(numbers: Sequence[int]) -> Any:
        return {number: replace(each, time=each.time - timedelta(days=1)) for number, each in chain.block_facts(numbers).items()}

    return Liar(chain, block_facts=said)


def far_ahead(chain: FakeChain) -> Liar:
    return Liar(chain, head=lambda: 10**9)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("lie", [a_day_earlier, far_ahead])
def test_no_node_of_two_has_payments_passed_over_by_where_the_reading_begins(
    world: World, lie: Callable[[FakeChain], Liar], is_first: bool
) -> None:
    payment = world.create_link(fee_percentage=None, fee_address=None)
    world.advance(1)
    world.chain.pay(payment.requests[0])
    pass_time(world, 9000)
    liar = lie(world.chain)
    alone = world.services
    world.services = served_beside(alone, "sepolia", liar, is_first)
    with suppress(ChainUnavailable):
        world.scan()
    world.services = alone
    for _ in range(5):
        world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


@pytest.mark.parametrize("lie", [a_day_earlier, far_ahead])
def test_nor_does_one_beside_a_silent_one_for_however_long(world: World, lie: Callable[[FakeChain], Liar]) -> None:
    payment = world.create_link(fee_percentage=None, fee_address=None)
    world.advance(1)
    world.chain.pay(payment.requests[0])
    pass_time(world, 9000)
    liar, other = lie(world.chain), Silent(world.chain)
    alone = world.services
    world.services = served(alone, "sepolia", liar, other)
    for _ in range(3):
        with suppress(ChainUnavailable):
            world.scan()
        pass_time(world, alone.settings.silent_nodes_seconds)
    liar.answers.clear()
    other.is_down = False
    pass_time(world, 600)  # a node that failed is asked last for a while
    for _ in range(8):
        world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_network_without_a_request_begins_one_range_before_the_newest_block(world: World) -> None:
    pass_time(world, 3000)
    calls = count_calls(world.chain)
    flows.scan(world.services, "sepolia")
    assert calls == []


@pytest.mark.parametrize("age", [0, 1, 100, 1700, 5000])
def test_it_begins_at_most_a_range_and_ten_minutes_before_the_first_request(world: World, age: int) -> None:
    world.create_link()
    created = len(world.chain.blocks)
    pass_time(world, age)
    calls = count_calls(world.chain)
    chain = world.services.chains.of("sepolia")
    cursor = first_cursor(
        world.services,
        chain,
        find_network("sepolia"),  # type: ignore[arg-type]
        len(world.chain.blocks) - 1,
        2,
    )
    assert created - 600 - 2000 <= cursor.scanned_to <= created - 600
    assert len(calls) <= 10


def test_it_begins_at_the_first_block_of_a_chain_that_is_younger_than_its_first_request() -> None:
    with in_process_aws() as client:
        world = World(client)
        world.services = cold(world)
        world.create_link()
        world.chain.clock = world.clock
        pass_time(world, 5000)
        sepolia = find_network("sepolia")
        assert sepolia is not None
        head = len(world.chain.blocks) - 1
        assert first_cursor(world.services, world.services.chains.of("sepolia"), sepolia, head, 2).scanned_to == 0


def count_calls(chain: FakeChain) -> list[Any]:
    """The numbers of the blocks whose times are read from now on."""
    read, calls = chain.block_facts, list[Any]()

    def counted_read(numbers: Any) -> Any:
        calls.append(numbers)
        return read(numbers)

    chain.block_facts = counted_read  # type: ignore[method-assign]
    return calls


def test_a_node_without_the_blocks_of_that_time_does_not_begin_later_but_fails(world: World) -> None:
    world.create_link()
    pass_time(world, 5000)
    world.chain.without_headers = set(range(3500))
    world.tick()
    assert store.cursor(world.services.store, "sepolia") is None
    world.chain.without_headers = set()
    world.tick()
    assert scanned_to(world) > 0


def test_only_the_first_request_of_a_network_is_noted_and_a_process_looks_once(world: World) -> None:
    world.create_link()
    first = request_store.first_request(world.services.store, "sepolia")
    assert first is not None
    assert first.created_at == world.now
    world.advance(50)
    with counted(world.client) as calls:
        world.create_link()
    assert calls.by_operation["GetItem"] == 0
    other = cold(world)
    with counted(world.client) as calls:
        links.create(other, world.owner, draft())
        links.create(other, world.owner, draft())
    assert calls.by_operation["GetItem"] == 2, "the first request of the network, and the setting of the account"
    assert request_store.first_request(world.services.store, "sepolia") == first


def test_each_network_of_a_request_is_noted(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("base"))
    other = World(world.client, chains=chains)
    other.services = cold(other)
    other.create_link()
    assert request_store.first_request(other.services.store, "base") is None
    other.create_link(currency="USDC-base")
    found = request_store.first_request(other.services.store, "base")
    assert found is not None
    assert found.created_at - START < timedelta(seconds=1)
