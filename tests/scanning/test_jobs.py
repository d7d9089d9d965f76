"""The messages that start ticks: a minute of them for every network, old ones dropped; and the lag of each network."""

import io
import json
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from aws_lambda_powertools import Logger

from chalicelib.base.timestamps import iso
from chalicelib.scanning import store
from chalicelib.scanning.jobs import scan_chain, start_scans
from chalicelib.services import Services
from infra.bench.calls import counted
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import World


def test_every_network_with_a_node_is_scanned_tron_too_and_nothing_else_that_has_a_url(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("tron"), FakeChain("no-such-network"))
    planning = World(world.client, chains=chains, scan_interval_seconds=20)
    start_scans(planning.services)
    planned = [(json.loads(m.body)["network"], (m.due - planning.now).seconds) for m in planning.queue.messages]
    assert planned == [(name, delay) for name in ("sepolia", "tron") for delay in (0, 20, 40)]


@dataclass
class Minutes:
    """Services with a log that a test reads."""

    services: Services
    stream: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        log = Logger(service="minutes", level="INFO")
        log.registered_handler.setStream(self.stream)
        self.services = replace(self.services, log=log)

    def lags(self) -> dict[str, int]:
        """The seconds by network that the schedule logs now."""
        self.stream.truncate(self.stream.seek(0))
        start_scans(self.services)
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return {line["network"]: line["lag_seconds"] for line in lines if line["message"] == "network lag"}


@pytest.fixture
def minutes(world: World) -> Minutes:
    return Minutes(world.services)


def test_a_network_of_which_no_block_was_read_has_no_lag(minutes: Minutes) -> None:
    assert minutes.lags() == {}


def test_the_lag_grows_while_the_head_stands_still(world: World, minutes: Minutes) -> None:
    world.scan()
    before = minutes.lags()["sepolia"]
    world.advance(600)
    world.tick()
    assert minutes.lags() == {"sepolia": before + 600}


def test_the_lag_grows_while_the_node_fails_and_falls_when_it_answers_again(world: World, minutes: Minutes) -> None:
    world.scan()
    before = minutes.lags()["sepolia"]
    world.advance(600)
    world.chain.mine(600)
    world.chain.is_down = True
    world.tick()
    assert minutes.lags() == {"sepolia": before + 600}
    world.chain.is_down = False
    world.tick()
    assert minutes.lags()["sepolia"] < before + 60


def test_the_lag_grows_while_no_tick_is_run(world: World, minutes: Minutes) -> None:
    world.scan()
    before = minutes.lags()["sepolia"]
    world.advance(600)
    assert minutes.lags() == {"sepolia": before + 600}


def test_each_network_has_a_lag_of_its_own_and_all_are_one_read(world: World) -> None:
    chains = FakeChains(FakeChain("sepolia"), FakeChain("tron"))
    both = World(world.client, chains=chains)
    for name in ("sepolia", "tron"):
        both.chain = chains.of(name)
        both.scan()
    chains.of("tron").mine(100)
    both.tick()
    with counted(world.client) as calls:
        lags = Minutes(both.services).lags()
    assert calls.by_operation == {"BatchGetItem": 1}
    assert lags["sepolia"] - lags["tron"] > 90


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
