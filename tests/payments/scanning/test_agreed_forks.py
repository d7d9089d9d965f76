"""A fork that removes what was recorded: what one of two nodes says of it alone, and receipts that never arrive."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.scanning import flows
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks.comparison import BLOCKS_PER_READING
from chalicelib.payments.scanning.records import TransferState
from tests.fakes.chain import Block, FakeChain
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


@pytest.mark.parametrize("is_slow", [False, True])
def test_no_slow_node_alone_has_a_payment_in_another_block_or_at_another_time(pair: Pair, is_slow: bool) -> None:
    """It says that its newest block is another, does not say which one the payment was in, and lists it in one that it
    makes up, after payments in more blocks than are compared before the deadline."""
    recorded(pair)
    first = pair.first
    (before,) = scan_store.list_logged(pair.world.services.store, "sepolia", 0, len(first.blocks))
    dust = pair.world.create_link().requests[0]
    for _ in range(BLOCKS_PER_READING + 1):
        first.pay(dust, amount=1)
    first.mine(3)
    first.blocks, at = list(first.blocks), before.block_number
    tip, made_up = cursor_of(pair.world).scanned_to, len(first.blocks) - 2
    (log,) = first.blocks[at].logs
    first.blocks[tip] = replace(first.blocks[tip], hash="0x" + "fe" * 32)
    place = {"blockNumber": hex(made_up), "blockHash": "0x" + "fd" * 32}
    first.blocks[made_up] = Block(made_up, place["blockHash"], before.paid_at - timedelta(days=1), [{**log, **place}])
    first.blocks[at] = replace(first.blocks[at], logs=[])
    first.without_headers.add(at)
    if is_slow:
        first.before_reading = lambda: pair.world.advance(21)
    with suppress(ServiceError):
        flows.scan(pair.world.services, "sepolia")
    first.before_reading = lambda: None
    pair.world.record()
    logged = scan_store.list_logged(pair.world.services.store, "sepolia", 0, len(first.blocks))
    of_payment = [each for each in logged if each.tx_hash == before.tx_hash]
    assert [(each.block_number, each.paid_at, each.state) for each in of_payment] == [(at, before.paid_at, TransferState.PAYMENT)]


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
