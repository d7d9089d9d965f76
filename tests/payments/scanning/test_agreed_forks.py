"""A fork that removes what was recorded: what one of two nodes says of it alone, and receipts that never arrive."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.scanning import flows
from chalicelib.payments.scanning.records import TransferState
from tests.fakes.chain import FakeChain
from tests.fakes.world import World, in_process_aws
from tests.payments.scanning.checks.test_comparison import (
    Burdened,
    Pair,
    burden,
    burdened,
    cursor_of,
    half,
    paid,
    states,
)

__all__ = ["burdened"]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with in_process_aws() as client:
        yield Pair(client)


def recorded(pair: Pair) -> PayableLink:
    """A link whose payment both nodes have, and that is recorded."""
    pair.world.scan()
    payment = pair.world.create_link()
    pair.world.chain.pay(payment.requests[0], amount=6_250_000)
    pair.world.scan()
    assert paid(pair.world, payment) == 6_250_000
    return payment


def leave(pair: Pair, node: FakeChain, depth: int = 3) -> None:
    """From now on a node has blocks of its own in place of the newest ones; the other one still has those."""
    node.blocks = list(node.blocks)
    node.fork(depth)


def tick(pair: Pair, compares_nodes: bool = False, times: int = 4) -> None:
    for _ in range(times):
        for node in (pair.first, pair.second):
            if node is pair.first or node.blocks is not pair.first.blocks:
                node.mine(2)
        with suppress(ServiceError):
            flows.scan(pair.world.services, "sepolia", compares_nodes)
        pair.world.record()


@pytest.mark.parametrize("is_preferred", [True, False])
def test_no_node_alone_undoes_a_payment_by_a_fork_of_its_own(pair: Pair, is_preferred: bool) -> None:
    payment, liar = recorded(pair), pair.first if is_preferred else pair.second
    leave(pair, liar)
    tick(pair)
    assert (paid(pair.world, payment), states(pair.world)) == (6_250_000, [TransferState.PAYMENT])
    honest = pair.second if is_preferred else pair.first
    liar.blocks = honest.blocks
    after = pair.world.create_link()
    honest.pay(after.requests[0], amount=6_250_000)
    tick(pair, compares_nodes=True)
    assert (paid(pair.world, payment), paid(pair.world, after)) == (6_250_000, 6_250_000)


def test_a_fork_that_both_nodes_have_undoes_what_it_removes(pair: Pair) -> None:
    payment = recorded(pair)
    pair.first.fork(3)
    tick(pair)
    assert (paid(pair.world, payment), states(pair.world)) == (0, [TransferState.REVERSED])


def test_a_fork_that_removes_a_payment_waits_for_the_other_node_until_that_is_dead(pair: Pair) -> None:
    payment = recorded(pair)
    pair.second.is_down = True
    pair.first.fork(3)
    tick(pair)
    assert paid(pair.world, payment) == 6_250_000
    pair.world.advance(121)
    tick(pair)
    assert paid(pair.world, payment) == 0


def test_one_transaction_whose_receipt_never_arrives_does_not_keep_a_fork_from_being_followed(
    burdened: tuple[World, Burdened],
) -> None:
    """Whoever made it would hold up everybody's payments on the network."""
    world, chain = burdened
    payment, other = world.create_link(), world.create_link()
    heavy = burden(chain, payment.requests[0], 1)
    world.scan()
    chain.stuck |= heavy
    chain.fork(1 + 2)
    half(world, other)
    for _ in range(3):
        world.advance(5)
        world.scan()
    assert (paid(world, payment), paid(world, other)) == (0, 6_250_000)
    assert cursor_of(world).scanned_to == len(chain.blocks) - 2
