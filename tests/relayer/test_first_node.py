"""What the first of two nodes says alone of the service's account: it keeps back no alarm, and once it stops nothing
that it said is believed any more."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Receipt
from chalicelib.relayer import flows
from chalicelib.relayer.jobs import follow_relayed
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Call
from tests.fakes.chain import FakeChain
from tests.fakes.lying_node import Liar, Silent, served
from tests.fakes.world import PlainSigningKeys, World
from tests.relayer.test_tracking import Lines, logged, status

SENDER = PlainSigningKeys.address
CALL = Call("payout/1", "sepolia", "0x" + "22" * 20, "0x1234", account_id="acct")
Lie = Callable[[FakeChain], Liar]


@pytest.fixture
def world(world: World) -> World:
    return World(world.client, relayer_keys={"sepolia": "secret"}, relayer_stuck_seconds=60)


def saying(**said: Any) -> Lie:
    """A node that says something else of the account."""
    return lambda chain: Liar(chain, read_account=lambda address: replace(chain.read_account(address), **said))


def none_in_blocks(chain: FakeChain) -> Liar:
    return Liar(chain, receipts_of=lambda tx_hashes: {})


def in_later_blocks(chain: FakeChain) -> Liar:
    """Each receipt is in a block that is never deep enough."""

    def receipts_of(tx_hashes: list[str]) -> dict[str, Receipt]:
        found = chain.receipts_of(tx_hashes)
        return {tx_hash: replace(each, block_number=10**9) for tx_hash, each in found.items()}

    return Liar(chain, receipts_of=receipts_of)


def begin(world: World) -> None:
    """The account's call is at the node, and in a block with as many over it as it takes."""
    world.chain.mine(50)
    flows.submit(world.services, [CALL])
    world.chain.mine(5)


def begin_without_its_nonce(world: World) -> None:
    """The account's call is in no block, and another user of its key has its nonce."""
    world.chain.mine(50)
    flows.submit(world.services, [CALL])
    world.chain.mempool.holds = True
    world.chain.mine(3)
    world.chain.mempool.steal_nonce(SENDER)


def look(world: World, services: Any, minutes: int) -> None:
    for _ in range(minutes):
        world.chain.mine(3)
        world.advance(61)
        follow_relayed(services, '{"network": "sepolia"}')


def beside(world: World, lie: Lie, *others: Any) -> tuple[Any, Lines]:
    """The services of a deployment whose first node lies, and what they log."""
    services, lines = logged(world)
    return served(services, "sepolia", lie(world.chain), *(others or (world.chain,))), lines


@pytest.mark.parametrize(
    "lie",
    [saying(nonce=0), saying(nonce=0, head=0), saying(head=0), saying(head=10**9), none_in_blocks, in_later_blocks],
)
def test_a_call_without_an_outcome_for_long_is_an_alarm_whatever_the_first_node_says(world: World, lie: Lie) -> None:
    begin(world)
    services, lines = beside(world, lie)
    look(world, services, 14)
    if status(world) is CallStatus.UNKNOWN:
        assert lines.of("call outcome unknown")
    look(world, world.services, 2)
    assert status(world) is CallStatus.SUCCEEDED


@pytest.mark.parametrize("minutes", [1, 14])
@pytest.mark.parametrize("lie", [saying(nonce=0), saying(nonce=0, head=0), saying(head=0), saying(head=10**9)])
def test_that_others_have_the_nonce_is_found_after_the_first_node_denied_it(
    world: World, lie: Lie, minutes: int
) -> None:
    begin_without_its_nonce(world)
    services, lines = beside(world, lie)
    look(world, services, minutes)
    if status(world) is CallStatus.UNKNOWN and minutes > 10:
        assert lines.of("call outcome unknown")
    look(world, world.services, 12)
    assert status(world) is CallStatus.SUPERSEDED


@pytest.mark.parametrize("lie", [saying(nonce=0), saying(nonce=1, head=0)])
def test_that_others_have_the_nonce_is_found_after_the_only_node_that_answered_denied_it(
    world: World, lie: Lie
) -> None:
    begin_without_its_nonce(world)
    services, _ = beside(world, lie, Silent(world.chain))
    look(world, services, 14)
    look(world, world.services, 12)
    assert status(world) is CallStatus.SUPERSEDED


def test_a_deep_fork_is_seen_though_the_first_node_says_that_nothing_is_gone(world: World) -> None:
    begin(world)
    look(world, world.services, 1)
    assert status(world) is CallStatus.SUCCEEDED
    world.chain.mempool.executed.clear()
    services, lines = beside(world, saying(nonce=1))
    look(world, services, 1)
    assert lines.of("transactions removed by a fork")
    look(world, world.services, 3)
    assert status(world) is CallStatus.SUCCEEDED and len(world.chain.mempool.executed) == 1


def test_a_low_balance_is_an_alarm_whatever_the_first_node_says(world: World) -> None:
    world.chain.mempool.balance = 1
    services, lines = beside(world, saying(balance=BaseUnits(10**24)))
    look(world, services, 1)
    assert lines.of("relayer balance is low")


def test_the_nodes_that_have_nothing_to_add_are_not_asked_for_receipts(world: World) -> None:
    begin(world)
    asked = list[Any]()
    other = Liar(world.chain, receipts_of=lambda tx_hashes: asked.append(tx_hashes) or {})
    look(world, served(world.services, "sepolia", world.chain, other), 2)
    assert status(world) is CallStatus.SUCCEEDED and not asked
