"""Nothing that was recorded is taken away before what replaces it was read, wherever the process dies."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.scanning import flows
from chalicelib.payments.scanning.rules import LEASE
from tests.fakes.crash import Crash
from tests.fakes.world import World, in_process_aws


def dying_at(world: World, fatal: int) -> list[int]:
    """Has the process die at a call of the node; returns the list in which calls are noted."""
    calls, read = list[int](), world.chain._read

    def counted() -> None:
        calls.append(1)
        if len(calls) == fatal:
            raise Crash
        read()

    world.chain._read = counted  # type: ignore[method-assign]
    return calls


def recorded(client: Any) -> tuple[World, PayableLink]:
    world = World(client)
    world.scan()
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    return world, payment


def forked(world: World) -> None:
    world.chain.fork(4)
    world.chain.mine(2)


def not_there_any_more(world: World) -> None:
    """The node has the block of the payment without its log when it is read again."""
    world.advance(601)
    for _ in range(2):  # the blocks before are read again, and then those up to now are to be
        world.scan()
    for block in world.chain.blocks:
        block.logs.clear()
    world.advance(601)
    world.chain.mine(2)


@pytest.fixture(params=[forked, not_there_any_more], ids=["a fork", "a later reading"])
def loses(request: pytest.FixtureRequest) -> Iterator[Callable[[World], None]]:
    yield request.param


def test_a_payment_stays_until_every_block_that_replaces_its_own_was_read(loses: Callable[[World], None]) -> None:
    fatal, calls = 0, [1]
    while len(calls) >= fatal:
        fatal += 1
        with in_process_aws() as client:
            world, payment = recorded(client)
            loses(world)
            calls = dying_at(world, fatal)
            with suppress(Crash):
                flows.scan(world.services, "sepolia")
            has_died = len(calls) >= fatal
            calls_made = len(calls)
            recording.queue_overdue(world.services)
            world.record()
            kept = world.load(payment).link.status is LinkStatus.COMPLETED
            assert kept is has_died, f"died at call {fatal} of {calls_made}"
            if has_died:
                world.advance(LEASE.total_seconds())
                world.chain._read = lambda: None  # type: ignore[method-assign]
                world.chain.mine(2)
                for _ in range(2):
                    world.scan()
                assert world.load(payment).link.status is LinkStatus.PENDING, f"died at call {fatal}"
    assert fatal >= (5 if loses is forked else 4)  # the blocks that are read again come with the new ones
