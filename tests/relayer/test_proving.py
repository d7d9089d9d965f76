"""How the nodes of a network are asked for proofs: how often, and what one that is silent or behind delays."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.relayer import flows
from chalicelib.relayer.jobs import follow_relayed
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Call
from tests.fakes.chain import FakeChain
from tests.fakes.lying_node import RECEIPT, Lies, LyingNode, served
from tests.fakes.world import PlainSigningKeys, World
from tests.relayer.test_tracking import Lines

CALL = Call("payout/1", "sepolia", "0x" + "22" * 20, "0x1234", account_id="acct")
OF_NODES = ("head", "read_account", "receipts_of", "block_hashes", "sights", "used_nonces", "transaction_count")


class Counted:
    """A node whose requests are counted by the method of `EvmChain` that makes them."""

    def __init__(self, chain: FakeChain) -> None:
        self.chain, self.network, self.made = chain, chain.network, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.chain, name)
        if name not in OF_NODES:
            return attribute

        def counted(*args: Any) -> Any:
            self.made[name] += 1
            return attribute(*args)

        return counted


@pytest.fixture
def world(world: World) -> World:
    return World(world.client, relayer_keys={"sepolia": "secret"}, relayer_stuck_seconds=60)


def check(world: World, services: Any, blocks: int = 3) -> None:
    world.chain.mine(blocks)
    world.advance(61)
    follow_relayed(services, '{"network": "sepolia"}')


def status(world: World) -> CallStatus:
    found = flows.outcome(world.services, CALL.key)
    assert found is not None
    return found.status


def test_a_check_asks_each_node_once_for_all_that_is_to_be_proven(world: World) -> None:
    nodes = [Counted(world.chain), Counted(world.chain)]
    services = served(world.services, "sepolia", *nodes)
    check(world, services)
    assert [each.made for each in nodes] == [{"read_account": 1}, {"read_account": 1}], "nothing is open"
    flows.submit(services, [replace(CALL, key=f"payout/{n}", data=f"0x{n:04x}") for n in range(1, 9)])
    for each in nodes:
        each.made.clear()
    check(world, services)
    first, second = (dict(each.made) for each in nodes)
    assert first == {"read_account": 1, "receipts_of": 1, "sights": 1}
    assert second == {"read_account": 1, "sights": 1}
    assert status(world) is CallStatus.SUCCEEDED


def test_a_search_reads_a_few_blocks_at_each_check_and_only_while_a_receipt_is_missing(world: World) -> None:
    node = Counted(world.chain)
    services = served(world.services, "sepolia", node)
    check(world, services, blocks=100)
    flows.submit(services, [CALL])
    world.chain.mine()
    world.chain.mempool.executed.clear()
    asked = list[Any]()
    world.chain.used_nonces = lambda sender, numbers, blocks: asked.append(blocks) or ()  # type: ignore
    world.chain.mempool.holds = True
    world.chain.mempool.steal_nonce(PlainSigningKeys.address)
    for _ in range(20):
        check(world, services)
    assert asked and all(each.last - each.first < 10 for each in asked)
    assert {each.first for each in asked} == {109}, "it begins after the last reading at which the nonce was unused"
    assert max(each.last for each in asked) < 120 and status(world) is CallStatus.UNKNOWN


def test_no_other_transaction_is_searched_for_within_a_minute_as_receipts_may_come_late(world: World) -> None:
    asked = list[Any]()
    flows.submit(world.services, [CALL])
    world.chain.mempool.waiting.clear()
    world.chain.mempool.holds = True
    world.chain.used_nonces = lambda sender, numbers, blocks: asked.append(blocks) or ()  # type: ignore
    world.chain.mempool.steal_nonce(PlainSigningKeys.address)
    for seconds in (0, 54):
        world.chain.mine(3)
        world.advance(seconds)
        follow_relayed(world.services, '{"network": "sepolia"}')
        assert asked == []
    world.advance(6)
    follow_relayed(world.services, '{"network": "sepolia"}')
    assert len(asked) == 1


@pytest.mark.parametrize("trouble", ["silent", "behind", "without the receipt"])
def test_a_node_that_does_not_confirm_an_outcome_delays_it_with_an_alarm_after_ten_minutes(
    world: World, trouble: str
) -> None:
    lies = Lies(frozenset({RECEIPT}), lambda raw: None, 0)
    other: Any = LyingNode(world.chain, lies)
    if trouble != "without the receipt":
        lies.is_active = False

        def sights(sought: Any) -> Any:
            if trouble == "silent":
                raise ChainUnavailable("does not answer")
            return tuple(replace(each, is_deep=False) for each in world.chain.sights(sought))

        other.sights = sights
    lines = Lines()
    services = replace(served(world.services, "sepolia", world.chain, other), log=lines)
    flows.submit(services, [CALL])
    for _ in range(10):
        check(world, services)
    assert lines.of("call outcome unknown") == [] and status(world) is CallStatus.UNKNOWN
    for _ in range(3):
        check(world, services)
    logged = lines.of("call outcome unknown")
    assert logged and {each["reason"] for each in logged} == {"not every node confirms it"}
    if trouble == "silent":
        assert lines.of("node confirms no outcome")[0]["node"] == "node-1"
    check(world, world.services)
    assert status(world) is CallStatus.SUCCEEDED and len(world.chain.mempool.executed) == 1


def test_a_node_that_contradicts_another_is_an_alarm_at_once(world: World) -> None:
    lies, lines = Lies(frozenset({RECEIPT}), lambda raw: False, 0), Lines()
    services = served(world.services, "sepolia", world.chain, LyingNode(world.chain, lies))
    services = replace(services, log=lines)
    flows.submit(services, [CALL])
    check(world, services)
    (logged,) = lines.of("call outcome unknown")
    assert logged["reason"].startswith("the nodes contradict each other") and status(world) is CallStatus.UNKNOWN
    lies.is_active = False
    check(world, services)
    assert status(world) is CallStatus.SUCCEEDED
