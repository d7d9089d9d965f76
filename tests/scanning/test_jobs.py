"""The messages that start ticks: a minute of them for every network that has a node, and those that are dropped."""

import json
from datetime import timedelta

from chalicelib.base.timestamps import iso
from chalicelib.scanning import store
from chalicelib.scanning.jobs import scan_chain, start_scans
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import World


def test_every_network_with_a_node_is_scanned_tron_too_and_nothing_else_that_has_a_url(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("tron"), FakeChain("no-such-network"))
    planning = World(world.client, chains=chains, scan_interval_seconds=20)
    start_scans(planning.services)
    planned = [(json.loads(m.body)["network"], (m.due - planning.now).seconds) for m in planning.queue.messages]
    assert planned == [(name, delay) for name in ("sepolia", "tron") for delay in (0, 20, 40)]


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
    """The code before wrote such messages."""
    scan_chain(world.services, '{"network": "sepolia"}')
    assert store.cursor(world.services.store, "sepolia") is not None
