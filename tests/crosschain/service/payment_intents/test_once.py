"""The tokens are taken once and spent once: whatever call a process dies at, whoever works at once, whatever fails."""

import random
from contextlib import suppress

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.crosschain.service.payment_intents import running
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent, Stage
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.crash import Crash, Interruption, Tripwire
from tests.fakes.permits import ENOUGH, EXECUTOR, POOL, Permits, check_conserved

STAGES = ("taking", "taken", "spending", "bridged")


def at(stage: str) -> tuple[Permits, PaymentIntent]:
    """A payment that is accepted; whose tokens were taken; whose spending is accepted; that is in the bridge."""
    permits = Permits()
    intent = permits.begun()
    minutes = {"taking": 0, "taken": 1, "spending": 2, "bridged": 3}[stage]
    permits.settle(minutes)
    permits.bridge.tick(1)
    return permits, intent


def check_ends(permits: Permits, intent: PaymentIntent) -> None:
    """Runs to the end, whatever has happened before."""
    permits.settle(16)
    for sent in permits.sent:
        if permits.load(intent).stage is not Stage.ENDED:
            permits.fill(sent)
    permits.settle(8)
    assert permits.load(intent).stage is Stage.ENDED and not permits.loaded().is_executed
    check_conserved(permits)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("stage", STAGES)
def test_a_process_may_die_at_any_call(stage: str, before: bool) -> None:
    wire = Tripwire()
    permits, _ = at(stage)
    permits.run(permits.guarded(wire))
    assert wire.calls > 3
    for fatal in range(1, wire.calls + 1):
        permits, intent = at(stage)
        with suppress(Crash):
            permits.run(permits.guarded(Tripwire(fatal, before)))
        check_ends(permits, intent)


@pytest.mark.parametrize("stage", STAGES)
def test_two_workers_may_work_at_the_same_payment(stage: str) -> None:
    wire = Tripwire()
    permits, _ = at(stage)
    permits.run(permits.guarded(wire))
    for position in range(1, wire.calls + 1):
        permits, intent = at(stage)
        permits.run(permits.guarded(Interruption(position, permits.run)))
        check_ends(permits, intent)


@pytest.mark.parametrize("slow_first", [True, False])
def test_a_worker_for_the_bridge_and_one_that_returns_the_tokens_spend_them_once(slow_first: bool) -> None:
    """The slower one has read the state before the route expired, and submits after the faster one."""
    permits, intent = at("taken")
    permits.world.advance(120)  # the kept route expires
    permits.world.router.trouble = RouterUnavailable("down")
    permits.settle(1)
    permits.world.router.trouble = None
    permits.allowances[EXECUTOR.lower(), POOL.lower()] = ENOUGH
    read, request = permits.load(intent), permits.loaded()
    assert read.stage is Stage.TAKEN and not permits.sent

    def late() -> None:
        with suppress(ServiceError):
            running._submit_spend(permits.services, read, request, f"spend/{read.spends}")

    def gone() -> None:
        permits.world.advance(16 * 60)
        late()

    for act in (late, gone, late) if slow_first else (gone, late, gone):
        act()
    check_ends(permits, intent)
    assert permits.made["deposit"] == slow_first


def test_what_was_taken_is_bridged_or_returned_in_every_history() -> None:
    """150 histories of failures, silences, crashes and late workers."""
    for seed in range(150):
        chance, permits = random.Random(seed), Permits(seed)
        intent = permits.begun()
        for _ in range(chance.randint(2, 14)):
            _disturb(permits, chance)
            services = permits.services
            if chance.random() < 0.4:
                services = permits.guarded(Tripwire(chance.randint(1, 14), chance.random() < 0.5))
            with suppress(Crash, SweepIncomplete, ServiceError):
                permits.run(services)
            permits.chain.is_down = False
            permits.bridge.tick(chance.choice((0.2, 1, 1, 5)))
            with suppress(WriteConflict, ServiceError):
                permits.minute()
        permits.fails.clear()
        permits.refuses.clear()
        permits.world.router.trouble = None
        permits.chain.mempool.holds = False
        permits.world.advance(3600)
        check_ends(permits, intent)


def _disturb(permits: Permits, chance: random.Random) -> None:
    names = ("take", "approve", "deposit", "transfer")
    permits.fails = {each for each in names if chance.random() < 0.2}
    permits.refuses = {each: "refused" for each in names if chance.random() < 0.15}
    permits.chain.is_down = chance.random() < 0.1
    permits.chain.mempool.holds = chance.random() < 0.2
    permits.world.router.trouble = RouterUnavailable("down") if chance.random() < 0.2 else None
