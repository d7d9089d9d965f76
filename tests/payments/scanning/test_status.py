"""`GET /v2/status`: how far each network is read, whatever is out of order."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.timestamps import iso
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.payments.scanning import flows, rules
from chalicelib.payments.scanning.api import NetworkStatusAnswer
from chalicelib.payments.scanning.records import Cursor, DeferredTransaction, NodeCheck
from tests.bench.calls import counted
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import START, World, in_process_aws
from tests.support.client import Api
from tests.support.running import running

INTERVAL, SILENT = timedelta(seconds=5), timedelta(seconds=120)


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client, chains=FakeChains(FakeChain("sepolia"), FakeChain("base")))


def cursor(read_until: datetime | None = START) -> Cursor:
    return Cursor("mainnet", 100, (), 2000, read_until=read_until, read_at=START)


@pytest.mark.parametrize(
    ("age", "confirmations", "sees"),
    [(0, 12, True), (245, 12, True), (245.001, 12, False), (80, 1, True), (81, 1, False), (-5, 1, True)],
)
def test_payments_are_seen_while_the_lag_is_what_confirmations_and_interval_explain(
    age: float, confirmations: int, sees: bool
) -> None:
    found = rules.network_status("mainnet", cursor(), confirmations, INTERVAL, SILENT, START + timedelta(seconds=age))
    assert (found.sees_payments, found.lag) == (sees, timedelta(seconds=max(age, 0)))


@pytest.mark.parametrize("known", [None, cursor(read_until=None)], ids=["never read", "begun and not read yet"])
def test_nothing_is_known_before_the_first_read(known: Cursor | None) -> None:
    assert rules.network_status("mainnet", known, 12, INTERVAL, SILENT, START) == rules.NetworkStatus(
        "mainnet", None, None, None, False
    )


def test_each_network_has_its_own_status_and_a_head_that_stands_still_is_seen_as_lag(world: World) -> None:
    sepolia = world.services.chains.of("sepolia")
    sepolia.clock = world.clock  # type: ignore[attr-defined]
    sepolia.mine(5)  # type: ignore[attr-defined]
    flows.scan(world.services, "sepolia")
    before, other = flows.status(world.services)
    assert (before.network, before.sees_payments, other.network, other.sees_payments) == ("sepolia", True, "base", False)
    world.advance(3600)
    flows.scan(world.services, "sepolia")
    after, _ = flows.status(world.services)
    assert (after.sees_payments, after.lag) == (False, timedelta(hours=1))


def test_it_is_one_read_and_no_call_to_a_node(world: World) -> None:
    for name in world.services.chains.networks:
        world.services.chains.of(name).is_down = True  # type: ignore[attr-defined]
    with counted(world.client) as calls:
        assert len(flows.status(world.services)) == 2
    assert dict(calls.by_operation) == {"BatchGetItem": 1}


def test_without_the_list_of_nodes_it_shows_what_was_ever_scanned(world: World) -> None:
    flows.scan(world.services, "sepolia")

    class Broken:
        @property
        def networks(self) -> tuple[str, ...]:
            raise RuntimeError("Secrets Manager does not answer")

    broken: Any = Broken()
    world._chains = broken
    assert [each.network for each in flows.status(world.start())] == ["sepolia"]


def test_anybody_may_ask(api: Api) -> None:
    reply = api.get("/v2/status")
    assert reply.status == 200
    names = {each["network"] for each in reply.json["networks"]}
    assert names == set(running().chains.networks)
    for each in reply.json["networks"]:
        named = {
            "network", "lagSeconds", "readUntil", "lastRead", "isSeeingPayments", "nodes", "paymentsRestOn", "waitsForNode",
            "evidence", "deferred",
        }  # fmt: skip
        assert set(each) == named
        assert each["paymentsRestOn"] == "one node", "the deployment of this test has one of each"


def test_it_says_how_many_transactions_are_deferred_and_since_when_and_reads_them_only_where_some_are(world: World) -> None:
    flows.scan(world.services, "sepolia")
    world.services.store.write(replace(cursor(), network="base", deferred_from=""))
    times = (START + timedelta(hours=2), START + timedelta(hours=1))
    deferred = [DeferredTransaction("base", at, f"0x{at:064x}", time) for at, time in enumerate(times, 7)]
    world.services.store.put_many(deferred)
    with counted(world.client) as calls:
        sepolia, base = flows.status(world.services)
    assert dict(calls.by_operation) == {"BatchGetItem": 1, "Query": 1}
    assert (sepolia.deferred, [each.place for each in base.deferred]) == ((), [each.place for each in deferred])
    assert NetworkStatusAnswer.of(sepolia).deferred is None
    shown = NetworkStatusAnswer.of(base).deferred
    assert shown is not None
    assert shown.model_dump() == {"count": 2, "since": iso(times[1])}


def test_it_counts_a_hundred_deferred_transactions_at_most(world: World) -> None:
    world.services.store.write(replace(cursor(), network="base", deferred_from=""))
    world.services.store.put_many([DeferredTransaction("base", 7, f"0x{at:064x}", START) for at in range(120)])
    _, base = flows.status(world.services)
    shown = NetworkStatusAnswer.of(base).deferred
    assert shown is not None and shown.count == 100


def test_it_says_of_which_networks_one_node_alone_vouches_for_payments() -> None:
    compared = replace(cursor(), nodes=NodeCheck(2, 1, agree=True))
    rests = [
        NetworkStatusAnswer.of(rules.network_status("mainnet", each, 12, INTERVAL, SILENT, START)).paymentsRestOn
        for each in (None, cursor(), compared, replace(compared, alone=BlockRange(1, 2)))
    ]
    assert rests == ["one node", "one node", "several nodes", "one node"]
