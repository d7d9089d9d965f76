"""A process that ends at any of its calls: each call is executed once all the same, and never under two nonces."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.platform.services import Services
from chalicelib.relayer import flows, store
from chalicelib.relayer.jobs import follow_relayed
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Call
from tests.fakes.chain import FakeChains
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Interruption, Tripwire
from tests.fakes.world import PlainSigningKeys, World
from tests.support.rehearsed import few

NODE_CALLS = ("head", "read_account", "run_each", "send_raw", "receipts_of", "sights", "used_nonces", "transaction_count", "replayed")
CALLS = [Call(f"payout/{n}", "sepolia", "0x" + "22" * 20, f"0x12{n:02x}", account_id="acct") for n in range(3)]


class FragileChain:
    """A chain whose calls are guarded by the tripwire."""

    def __init__(self, chain: Any, wire: Tripwire | Interruption) -> None:
        self._chain, self._wire, self.network = chain, wire, chain.network

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._chain, name)
        return self._wire.guard(attribute) if name in NODE_CALLS else attribute


@pytest.fixture
def world(world: World) -> World:
    return World(world.client, relayer_keys={"sepolia": "secret"}, relayer_stuck_seconds=60)


def fragile(world: World, wire: Tripwire | Interruption) -> Services:
    services = world.start(FragileClient(world.client, wire), FragileQueue(world.queue, wire))  # type: ignore[arg-type]
    return replace(services, chains=FakeChains(FragileChain(world.chain, wire)))  # type: ignore[arg-type]


def settle(world: World) -> None:
    """Lets the schedule and blocks come, until nothing is open."""
    for _ in range(10):
        world.advance(61)
        if not world.relay():
            return
    raise AssertionError("something stays open")


def assert_executed_once(world: World) -> None:
    executed = [raw for _, raw, _ in world.chain.mempool.executed.values()]
    assert sorted(raw.data for raw in executed) == [call.data for call in CALLS]
    assert sorted(raw.nonce for raw in executed) == list(range(len(CALLS)))
    for call in CALLS:
        outcome = flows.outcome(world.services, call.key)
        assert outcome is not None and outcome.status is CallStatus.SUCCEEDED
        (raw,) = [raw for raw in executed if raw.data == call.data]
        assert outcome.tx_hash == raw.tx_hash
    assert len({(raw.nonce, raw.data) for raw in world.chain.mempool.sent}) == len(CALLS), "one nonce for each"


def crashed(services: Services, run: Callable[[Services], object]) -> None:
    with suppress(Crash, ChainUnavailable):
        run(services)


def check(services: Services) -> None:
    follow_relayed(services, '{"network": "sepolia"}')


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("fatal", range(1, 13))
def test_a_crash_while_calls_are_submitted(world: World, fatal: int, before: bool) -> None:
    wire = Tripwire(fatal, before)
    crashed(fragile(world, wire), lambda services: flows.submit(services, CALLS))
    assert [each.status for each in flows.submit(world.services, CALLS)] == ["accepted"] * 3
    settle(world)
    assert_executed_once(world)


def test_submitting_makes_so_many_calls(world: World) -> None:
    """Each of them is a place for a crash above: a read, that of the stop, two of the node and one for an account that is
    new, two writes, a hint, and sending."""
    wire = Tripwire()
    flows.submit(fragile(world, wire), CALLS)
    assert wire.calls == 9


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("fatal", few(range(1, 15, 2), range(1, 15)))
@pytest.mark.parametrize("state", ["unsigned", "forgotten", "stuck", "in a block", "reverted"])
def test_a_crash_while_transactions_are_followed(world: World, state: str, fatal: int, before: bool) -> None:
    """The last of them come after the end of most checks, and show that more calls would be noticed."""
    mempool = world.chain.mempool
    if state == "unsigned":
        crashed(fragile(world, Tripwire(6, before=False)), lambda services: flows.submit(services, CALLS))
        assert not mempool.sent
    else:
        flows.submit(world.services, CALLS)
    mempool.holds = state == "stuck"
    if state == "forgotten":
        mempool.forget()
    if state == "reverted":
        mempool.executes = lambda raw: "no"
    world.advance(100)
    world.chain.mine(2)
    wire = Tripwire(fatal, before)
    crashed(fragile(world, wire), check)
    mempool.holds = False
    settle(world)
    if state != "reverted":
        assert_executed_once(world)
        return
    outcomes = [flows.outcome(world.services, call.key) for call in CALLS]
    assert [each and (each.status, each.reason) for each in outcomes] == [(CallStatus.REVERTED, "no")] * 3
    assert len(mempool.executed) == 3


@pytest.mark.parametrize("position", range(1, 10))
def test_a_second_worker_submits_the_same_calls_at_any_moment(world: World, position: int) -> None:
    interruption = Interruption(position, lambda: flows.submit(world.services, CALLS))
    found = flows.submit(fragile(world, interruption), CALLS)
    assert [each.status for each in found] == ["accepted"] * 3
    settle(world)
    assert_executed_once(world)


@pytest.mark.parametrize("position", range(1, 10))
def test_a_check_runs_at_any_moment_while_calls_are_submitted(world: World, position: int) -> None:
    """However late the worker goes on: the check may have signed what the worker was about to sign."""

    def check_late() -> None:
        world.advance(100)
        world.chain.mine(2)
        check(world.services)

    interruption = Interruption(position, check_late)
    assert [each.status for each in flows.submit(fragile(world, interruption), CALLS)] == ["accepted"] * 3
    settle(world)
    assert_executed_once(world)


@pytest.mark.parametrize("position", range(1, 15))
@pytest.mark.parametrize("holds", [True, False], ids=["stuck", "in a block"])
def test_two_checks_at_once_replace_and_finish_each_transaction_once(world: World, position: int, holds: bool) -> None:
    flows.submit(world.services, CALLS)
    world.chain.mempool.holds = holds
    world.advance(100)
    world.chain.mine(2)

    def other() -> None:
        world.advance(6)
        check(world.services)

    crashed(fragile(world, Interruption(position, other)), check)
    replaced = [raw for raw in world.chain.mempool.sent if raw.nonce == 0]
    assert len({raw.tx_hash for raw in replaced}) <= 2
    world.chain.mempool.holds = False
    settle(world)
    assert_executed_once(world)


@pytest.mark.parametrize("state", ["sent at once", "found unsigned", "replaced"])
def test_what_is_sent_was_recorded_with_its_hash_before(world: World, state: str) -> None:
    recorded: list[bool] = []
    mempool = world.chain.mempool
    take = mempool._take

    def compared(raw: Any) -> str | None:
        (found,) = store.transactions_from(world.services.store, "sepolia", PlainSigningKeys.address, raw.nonce, 1)
        recorded.append(raw.tx_hash in found.hashes)
        return take(raw)

    mempool._take = compared  # type: ignore[method-assign]
    if state == "found unsigned":
        crashed(fragile(world, Tripwire(6, before=False)), lambda services: flows.submit(services, CALLS))
    else:
        flows.submit(world.services, CALLS)
    mempool.holds = True
    world.advance(100)
    check(world.services)
    assert len(recorded) >= 3 and all(recorded)
