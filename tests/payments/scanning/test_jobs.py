"""The messages that start ticks: a minute of them for every network, old ones dropped; and the lag of each network."""

import json
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.networks import find_network as known_network
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.payments.scanning import store
from chalicelib.payments.scanning.flows import scan
from chalicelib.payments.scanning.jobs import scan_chain, start_scans
from chalicelib.platform.metrics import LAG
from tests.bench.calls import counted
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.node import FakeNode, TimedChain, chain_of
from tests.fakes.world import World
from tests.support.rehearsed import rehearsed


def test_every_network_with_a_node_is_scanned_tron_too_and_nothing_else_that_has_a_url(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("tron"), FakeChain("no-such-network"))
    planning = World(world.client, chains=chains, scan_interval_seconds=20, scan_intervals={"tron": 30})
    start_scans(planning.services)
    planned = [(json.loads(m.body)["network"], (m.due - planning.now).seconds) for m in planning.queue.messages]
    assert planned == [*(("sepolia", delay) for delay in (0, 20, 40)), *(("tron", delay) for delay in (0, 30))]


@pytest.mark.parametrize(("network", "most"), [("tron", 60_000), pytest.param("base", 35_000, marks=rehearsed)])
def test_an_idle_day_of_ticks_takes_so_many_requests_to_the_node(world: World, network: str, most: int) -> None:
    """TronGrid allows 100,000 a day; what the ticks leave is for payers. The requests of an hour are counted, with blocks
    at the network's own pace."""
    node = FakeNode(TimedChain(network, world.clock))
    idle = World(world.client, chains=FakeChains(chain_of(node)))
    node.chain._clock, pace = idle.clock, known_network(network).block_milliseconds / 1000
    node.chain.mine(2000)
    begin, requests = idle.now, 0

    def counted_post(*args: Any, post: Any = node.post_json) -> Any:
        nonlocal requests
        requests += 1
        return post(*args)

    node.post_json = counted_post  # type: ignore[method-assign]
    for _ in range(60):
        start_scans(idle.services)
        while idle.queue.messages:
            message = idle.queue.messages.pop(0)
            idle.now = max(idle.now, message.due)
            node.chain.mine(2000 + int((idle.now - begin).total_seconds() / pace) - len(node.chain.blocks))
            idle.consume(message, idle.services)
        idle.advance(60 - (idle.now - begin).total_seconds() % 60)
    assert requests * 24 <= most


@pytest.mark.parametrize(("nodes", "requests"), [(1, 1 + 1 + 6), (2, 2 * 2 + 6)])
def test_a_block_of_300_payments_takes_so_many_requests(world: World, nodes: int, requests: int) -> None:
    """Logs and what arrived are one request to each node; only payers are read from receipts, 50 in a request."""
    node = FakeNode(TimedChain("sepolia", world.clock))
    alike: Any = [(f"node-{number}", chain_of(node)) for number in range(nodes)]
    chain: Any = alike[0][1] if nodes == 1 else Nodes(alike, world.clock)
    busy = World(world.client, chains=FakeChains(chain))
    node.chain._clock = busy.clock
    node.chain.mine(20)
    scan(busy.services, "sepolia")
    payment = busy.create_link()
    node.chain.mine()
    for number in range(300):
        log = node.chain.pay_too(payment.requests[0], amount=number + 1)
        log["transactionHash"] = f"0x{number:064x}"
    node.chain.mine(12)
    asked, post = list[Any](), node.post_json

    def counted_post(path: str, body: Any, *args: Any) -> Any:
        asked.append({each["method"] for each in (body if isinstance(body, list) else [body])})
        return post(path, body, *args)

    node.post_json = counted_post  # type: ignore[method-assign]
    assert scan(busy.services, "sepolia") == 300
    of_payments = [each for each in asked if "eth_chainId" not in each]
    assert len(of_payments) == requests
    assert sum(each == {"eth_getTransactionReceipt"} for each in of_payments) == 6


def lags(world: World) -> dict[str, float]:
    """The seconds by network that the schedule measures now."""
    world.metrics.taken(LAG)
    start_scans(world.services)
    return {network: value for network, (value,) in world.metrics.taken(LAG).items()}


def test_a_network_of_which_no_block_was_read_has_no_lag(world: World) -> None:
    assert lags(world) == {}


def test_the_lag_grows_while_the_head_stands_still(world: World) -> None:
    world.scan()
    before = lags(world)["sepolia"]
    world.advance(600)
    world.tick()
    assert lags(world) == {"sepolia": before + 600}


def test_the_lag_grows_while_the_node_fails_and_falls_when_it_answers_again(world: World) -> None:
    world.scan()
    before = lags(world)["sepolia"]
    world.advance(600)
    world.chain.mine(600)
    world.chain.is_down = True
    world.tick()
    assert lags(world) == {"sepolia": before + 600}
    world.chain.is_down = False
    world.tick()
    assert lags(world)["sepolia"] < before + 60


def test_the_lag_grows_while_no_tick_is_run(world: World) -> None:
    world.scan()
    before = lags(world)["sepolia"]
    world.advance(600)
    assert lags(world) == {"sepolia": before + 600}


def test_each_network_has_a_lag_of_its_own_and_all_are_one_read(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("tron"))
    both = World(world.client, chains=chains)
    for name in ("sepolia", "tron"):
        both.chain = chains.of(name)
        both.scan()
    chains.of("tron").mine(100)
    both.tick()
    with counted(world.client) as calls:
        found = lags(both)
    assert calls.by_operation == {"BatchGetItem": 1}
    assert found["sepolia"] - found["tron"] > 90


def test_a_message_says_when_it_is_due(world: World) -> None:
    planning = World(world.client, scan_interval_seconds=30)
    start_scans(planning.services)
    due = [json.loads(message.body)["dueAt"] for message in planning.queue.messages]
    assert due == [iso(planning.now), iso(planning.now + timedelta(seconds=30))]


def test_a_tick_that_waited_for_more_than_30_seconds_is_dropped(world: World) -> None:
    message = json.dumps({"network": "sepolia", "dueAt": iso(world.now)})
    world.advance(31)
    scan_chain(world.services, message)
    assert store.cursor(world.services.store, "sepolia") is None
    world.advance(-1)
    scan_chain(world.services, message)
    assert store.cursor(world.services.store, "sepolia") is not None


def test_a_message_without_a_time_is_consumed(world: World) -> None:
    scan_chain(world.services, '{"network": "sepolia"}')
    assert store.cursor(world.services.store, "sepolia") is not None
