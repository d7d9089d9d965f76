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
from tests.fakes.payment_intents import ENOUGH, EXECUTOR, POOL, PaymentIntents, check_conserved
from tests.support.rehearsed import parts

STAGES = ("taking", "taken", "spending", "bridged")


def at(stage: str) -> tuple[PaymentIntents, PaymentIntent]:
    """A payment that is accepted; whose tokens were taken; whose spending is accepted; that is in the bridge."""
    payment_intents = PaymentIntents()
    intent = payment_intents.begun()
    minutes = {"taking": 0, "taken": 1, "spending": 2, "bridged": 3}[stage]
    payment_intents.settle(minutes)
    payment_intents.bridge.tick(1)
    return payment_intents, intent


def check_ends(payment_intents: PaymentIntents, intent: PaymentIntent) -> None:
    """Runs to the end, whatever has happened before."""
    payment_intents.settle(16)
    for sent in payment_intents.sent:
        if payment_intents.load(intent).stage is not Stage.ENDED:
            payment_intents.fill(sent)
    payment_intents.settle(8)
    assert payment_intents.load(intent).stage is Stage.ENDED and not payment_intents.loaded().is_executed
    check_conserved(payment_intents)


@pytest.mark.parametrize("part", parts(3))
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("stage", STAGES)
def test_a_process_may_die_at_any_call(stage: str, before: bool, part: int) -> None:
    wire = Tripwire()
    payment_intents, _ = at(stage)
    payment_intents.run(payment_intents.guarded(wire))
    assert wire.calls > 3
    for fatal in range(1 + part, wire.calls + 1, 3):
        payment_intents, intent = at(stage)
        with suppress(Crash):
            payment_intents.run(payment_intents.guarded(Tripwire(fatal, before)))
        check_ends(payment_intents, intent)


@pytest.mark.parametrize("part", parts(2))
@pytest.mark.parametrize("stage", STAGES)
def test_two_workers_may_work_at_the_same_payment(stage: str, part: int) -> None:
    wire = Tripwire()
    payment_intents, _ = at(stage)
    payment_intents.run(payment_intents.guarded(wire))
    for position in range(1 + part, wire.calls + 1, 2):
        payment_intents, intent = at(stage)
        payment_intents.run(payment_intents.guarded(Interruption(position, payment_intents.run)))
        check_ends(payment_intents, intent)


@pytest.mark.parametrize("slow_first", [True, False])
def test_a_worker_for_the_bridge_and_one_that_returns_the_tokens_spend_them_once(slow_first: bool) -> None:
    """The slower one has read the state before the route expired, and submits after the faster one."""
    payment_intents, intent = at("taken")
    payment_intents.world.advance(120)  # the kept route expires
    payment_intents.world.router.trouble = RouterUnavailable("down")
    payment_intents.settle(1)
    payment_intents.world.router.trouble = None
    payment_intents.allowances[EXECUTOR.lower(), POOL.lower()] = ENOUGH
    read, request = payment_intents.load(intent), payment_intents.loaded()
    assert read.stage is Stage.TAKEN and not payment_intents.sent

    def late() -> None:
        with suppress(ServiceError):
            running._submit_spend(payment_intents.services, read, request)

    def gone() -> None:
        payment_intents.world.advance(16 * 60)
        late()

    for act in (late, gone, late) if slow_first else (gone, late, gone):
        act()
    check_ends(payment_intents, intent)
    assert payment_intents.made["deposit"] == slow_first


@pytest.mark.parametrize("part", parts(10))
def test_what_was_taken_is_bridged_or_returned_in_every_history(part: int) -> None:
    """150 histories of failures, silences, crashes and late workers."""
    for seed in range(part, 150, 10):
        chance, payment_intents = random.Random(seed), PaymentIntents(seed)
        intent = payment_intents.begun()
        for _ in range(chance.randint(2, 14)):
            _disturb(payment_intents, chance)
            services = payment_intents.services
            if chance.random() < 0.4:
                services = payment_intents.guarded(Tripwire(chance.randint(1, 14), chance.random() < 0.5))
            with suppress(Crash, SweepIncomplete, ServiceError):
                payment_intents.run(services)
            payment_intents.chain.is_down = False
            payment_intents.bridge.tick(chance.choice((0.2, 1, 1, 5)))
            with suppress(WriteConflict, ServiceError):
                payment_intents.minute()
        payment_intents.fails.clear()
        payment_intents.refuses.clear()
        payment_intents.world.router.trouble = None
        payment_intents.chain.mempool.holds = False
        payment_intents.world.advance(3600)
        check_ends(payment_intents, intent)


def _disturb(payment_intents: PaymentIntents, chance: random.Random) -> None:
    names = ("take", "approve", "deposit", "transfer")
    payment_intents.fails = {each for each in names if chance.random() < 0.2}
    payment_intents.refuses = {each: "refused" for each in names if chance.random() < 0.15}
    payment_intents.chain.is_down = chance.random() < 0.1
    payment_intents.chain.mempool.holds = chance.random() < 0.2
    payment_intents.world.router.trouble = RouterUnavailable("down") if chance.random() < 0.2 else None
