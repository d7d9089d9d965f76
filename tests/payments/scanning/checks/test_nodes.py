"""A network with several nodes: what a tick reads while one of them is dead, slow, wrong, behind, lying or limited."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.nodes import Nodes, NodesDisagree
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks.nodes import hold
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.scanning.records import Cursor, NodeCheck
from tests.fakes.chain import FakeChains
from tests.fakes.node import FakeNode, Outage, TimedChain, chain_of
from tests.fakes.world import World, in_process_aws
from tests.support.rehearsed import few


class Twins:
    """A world whose sepolia has two nodes, of the same chain unless a test gives the second one another."""

    def __init__(self, client: Any) -> None:
        self.world = World(client)
        self.chain = TimedChain("sepolia", self.world.clock)
        self.first, self.second = FakeNode(self.chain), FakeNode(self.chain)
        self.use(self.second)
        self.stream = io.StringIO()
        log = Logger(service="twins", level="INFO")
        log.registered_handler.setStream(self.stream)  # type: ignore[attr-defined]
        self.world.services = replace(self.world.start(), log=log)

    def use(self, second: FakeNode) -> None:
        self.second = second
        nodes = Nodes([("one", chain_of(self.first)), ("two", chain_of(second))], self.world.clock)
        self.world._chains = FakeChains(nodes)  # type: ignore[arg-type]
        self.world.chain = self.chain

    def lying_node(self) -> FakeNode:
        """A node with a chain of its own, which has the same payments."""
        other = TimedChain("sepolia", self.world.clock, seed=7)
        other.mine(len(self.chain.blocks) - len(other.blocks))
        node = FakeNode(other)
        self.use(node)
        self.world.services = replace(self.world.services, chains=self.world._chains)
        return node

    def tick(self, seconds: int = 5, compare: bool = False, blocks: int = 3) -> None:
        """A tick, after some blocks of both nodes' chains."""
        self.world.advance(seconds)
        for chain in {id(node.chain): node.chain for node in (self.first, self.second)}.values():
            chain.mine(blocks)
        scan_chain(self.world.services, json.dumps({"network": "sepolia", "compareNodes": compare}))
        self.world.record()

    def logged(self, message: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [line for line in lines if line["message"] == message]

    @property
    def cursor(self) -> Cursor:
        found = scan_store.cursor(self.world.services.store, "sepolia")
        assert found is not None
        return found


@pytest.fixture
def twins() -> Iterator[Twins]:
    with in_process_aws() as client:
        yield Twins(client)


FAILURES = [
    Outage.TOO_MANY_REQUESTS,
    Outage.UNAUTHORIZED,
    Outage.TIMEOUT,
    Outage.NO_HEAD,
    Outage.REFUSES_LOGS,
    Outage.STANDS_STILL,
    Outage.LAGS,
    Outage.NO_LOGS,
]


@pytest.mark.parametrize("broken", few(["first"], ["first", "second"]))
@pytest.mark.parametrize("outage", FAILURES, ids=lambda each: each.name)
def test_a_payment_is_recorded_while_one_of_two_nodes_fails(twins: Twins, outage: Outage, broken: str) -> None:
    """Logs that a node leaves out are found when the other one reads the blocks again; a node whose head stands still is
    left when its newest block is too old."""
    twins.tick()
    payment = twins.world.create_link(fee_percentage=None, fee_address=None)
    getattr(twins, broken).outage = outage
    twins.chain.pay(payment.requests[0])
    for _ in range(30):
        twins.tick(60, compare=True)
    assert twins.world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_node_that_fails_within_a_tick_is_asked_last_by_the_next_one(twins: Twins) -> None:
    twins.tick()
    requests = dict.fromkeys(("first", "second"), 0)

    def counting(name: str, node: FakeNode) -> None:
        post = node.post_json

        def counted_post(*args: Any) -> Any:
            requests[name] += 1
            return post(*args)

        node.post_json = counted_post  # type: ignore[method-assign]

    counting("first", twins.first)
    counting("second", twins.second)
    twins.first.outage = Outage.TIMEOUT
    twins.tick(5)
    assert requests == {"first": 1, "second": 2}
    twins.tick(5)
    assert requests == {"first": 1, "second": 4}
    twins.first.outage = Outage.NONE
    twins.tick(300)
    assert requests == {"first": 3, "second": 6}, "after so long a time the heads of both are compared"


def test_a_node_of_another_chain_is_not_read(twins: Twins) -> None:
    twins.tick()
    before = twins.cursor.scanned_to
    twins.first.chain = TimedChain("base", twins.world.clock)
    twins.tick()
    assert twins.cursor.newest is not None
    assert twins.cursor.scanned_to > before
    assert twins.cursor.newest.hash == twins.chain.blocks[twins.cursor.scanned_to].hash


def test_without_a_node_that_answers_the_tick_fails_and_says_why(twins: Twins) -> None:
    twins.first.outage = twins.second.outage = Outage.TIMEOUT
    twins.tick()
    assert [line["network"] for line in twins.logged("scan failed")] == ["sepolia"]


def test_nodes_that_disagree_hold_the_network_until_they_agree_again(twins: Twins) -> None:
    twins.tick()
    payment = twins.world.create_link(fee_percentage=None, fee_address=None)
    honest = twins.second
    twins.lying_node()
    twins.tick(compare=True)
    twins.chain.pay(payment.requests[0])
    before = twins.cursor.scanned_to
    for _ in range(3):
        twins.tick()
    assert (twins.cursor.scanned_to, twins.cursor.nodes) == (before, NodeCheck(2, 2, agree=False))
    (status,) = scanning.status(twins.world.services)
    assert (status.sees_payments, status.nodes) == (False, NodeCheck(2, 2, agree=False))
    (line,) = twins.logged("nodes disagree")
    assert line["level"] == "ERROR"
    assert {"one", "two"} <= {word.strip(",") for word in line["reason"].split()}
    twins.use(honest)
    twins.world.services = replace(twins.world.services, chains=twins.world._chains)
    twins.tick(compare=True)
    assert (twins.cursor.nodes, twins.world.load(payment).link.status) == (
        NodeCheck(2, 2, agree=True),
        LinkStatus.COMPLETED,
    )


@pytest.mark.parametrize("liar_is_asked_first", [True, False])
def test_nothing_is_recorded_from_a_node_that_another_one_contradicts(twins: Twins, liar_is_asked_first: bool) -> None:
    """The payment is on the chain of the liar, or on that of the other node: between two nobody knows who lies."""
    twins.tick()
    payment = twins.world.create_link(fee_percentage=None, fee_address=None)
    other = twins.lying_node()
    if liar_is_asked_first:
        twins.first.chain, other.chain = other.chain, twins.first.chain
    twins.first.chain.pay(payment.requests[0])
    other.chain.mine()
    twins.tick()
    twins.tick()
    assert twins.world.load(payment).link.status is LinkStatus.PENDING
    assert twins.cursor.is_paused
    assert len(twins.logged("nodes disagree")) == 1


def test_a_network_that_is_held_before_any_comparison_has_two_nodes_that_disagree(twins: Twins) -> None:
    twins.tick()
    assert twins.cursor.nodes is None
    hold(twins.world.services, "sepolia", NodesDisagree("sepolia", "block 1 differs"))
    assert (twins.cursor.nodes, twins.cursor.is_paused) == (NodeCheck(2, 2, agree=False), True)
    assert [line["reason"] for line in twins.logged("nodes disagree")] == ["block 1 differs"]


def test_what_is_wrong_with_a_node_is_told_once_a_minute_and_forgotten_with_the_second_node(twins: Twins) -> None:
    twins.tick(compare=True, blocks=50)
    assert twins.cursor.nodes == NodeCheck(2, 2, agree=True)
    twins.second.outage = Outage.TIMEOUT
    twins.tick(compare=True)
    assert twins.cursor.nodes == NodeCheck(2, 1, agree=True)
    twins.second.outage = Outage.LAGS
    twins.tick(compare=True)
    assert [line["reason"] for line in twins.logged("nodes are not usable")] == ["two does not answer", "two is behind"]
    twins.world._chains = FakeChains(chain_of(twins.first))  # type: ignore[arg-type]
    twins.world.services = replace(twins.world.services, chains=twins.world._chains)
    twins.tick(compare=True)
    assert twins.cursor.nodes is None


def test_a_network_with_one_node_is_never_compared(twins: Twins) -> None:
    chain = EvmChain("sepolia", "http://node.invalid")
    assert not isinstance(chain, Nodes)
    twins.world._chains = FakeChains(chain_of(twins.first))  # type: ignore[arg-type]
    twins.world.services = replace(twins.world.services, chains=twins.world._chains)
    twins.tick(compare=True)
    assert twins.cursor.nodes is None
