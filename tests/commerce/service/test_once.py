"""Each operation has one effect on the chain: whatever call a process dies at, whoever works at once, whatever fails."""

import random
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout
from chalicelib.commerce.service import due_payments, rules
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.crash import Crash, Interruption, Tripwire
from tests.fakes.escrows import AMOUNT, OPERATOR, Commerce, check_conserved
from tests.fakes.world import PAYEE
from tests.support.rehearsed import parts

KINDS = ("authorize", "capture", "void", "refund")


def ready(kind: str, seed: int = 0) -> tuple[Commerce, Any]:
    """A payment with which an operation can begin."""
    commerce = Commerce(seed)
    if kind == "authorize":
        created = commerce.create()
        commerce.pre_approve(created)
        return commerce, created
    created = commerce.captured(fee_bps=0) if kind == "refund" else commerce.authorized()
    commerce.allow(PAYEE, OPERATOR, 10)
    return commerce, created


def begin(commerce: Commerce, created: Any, kind: str, services: Any = None) -> None:
    if kind == "authorize":
        commerce.authorize(created, services)
    elif kind == "capture":
        commerce.capture(created, 10, 0, services)
    elif kind == "void":
        commerce.void(created, services)
    else:
        commerce.refund(created, 10, services)


def effect(commerce: Commerce, created: Any, kind: str) -> int:
    payment = commerce.load(created)
    return {
        "authorize": payment.authorized, "capture": payment.captured,
        "void": payment.voided, "refund": payment.refunded,
    }[kind]  # fmt: skip


def check_once(commerce: Commerce, created: Any, kind: str, minutes: int = 8) -> None:
    """Asked for again until it is done, it is done once."""
    for _ in range(minutes):
        if effect(commerce, created, kind):
            break
        with suppress(ServiceError, WriteConflict):
            begin(commerce, created, kind)
        commerce.settle(4 if kind == "refund" else 2)
    commerce.settle(2)
    assert effect(commerce, created, kind) == (AMOUNT if kind in ("authorize", "void") else 10)
    assert commerce.made[kind] == 1 and commerce.load(created).pending is None
    assert commerce.made["transferFrom"] - commerce.made["transfer"] == (kind == "refund")
    check_conserved(commerce)


@pytest.mark.parametrize("part", parts(2))
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_may_die_at_any_call_of_the_request(kind: str, before: bool, part: int) -> None:
    wire = Tripwire()
    commerce, created = ready(kind)
    begin(commerce, created, kind, commerce.guarded(wire))
    assert wire.calls > 3
    for fatal in range(1 + part, wire.calls + 1, 2):
        commerce, created = ready(kind)
        with suppress(Crash):
            begin(commerce, created, kind, commerce.guarded(Tripwire(fatal, before)))
        check_once(commerce, created, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_two_callers_may_press_at_the_same_time(kind: str) -> None:
    wire = Tripwire()
    commerce, created = ready(kind)
    begin(commerce, created, kind, commerce.guarded(wire))
    for position in range(1, wire.calls + 1):
        commerce, created = ready(kind)

        def other(commerce: Commerce = commerce, created: Any = created) -> None:
            with suppress(ServiceError, WriteConflict):
                begin(commerce, created, kind)

        with suppress(ServiceError, WriteConflict):
            begin(commerce, created, kind, commerce.guarded(Interruption(position, other)))
        check_once(commerce, created, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_caller_ends_nothing_that_was_executed_meanwhile(kind: str) -> None:
    wire = Tripwire()
    commerce, created = ready(kind)
    begin(commerce, created, kind, commerce.guarded(wire))
    for position in range(1, wire.calls + 1):
        commerce, created = ready(kind)
        slow = Interruption(position, lambda commerce=commerce: commerce.settle(1))
        with suppress(ServiceError, WriteConflict):
            begin(commerce, created, kind, commerce.guarded(slow))
        check_once(commerce, created, kind)


def test_a_caller_whom_the_schedule_overtakes_is_answered_with_the_operation() -> None:
    wire = Tripwire()
    commerce, created = ready("capture")
    commerce.capture(created, 10, 0, commerce.guarded(wire))
    for position in range(1, wire.calls + 1):
        commerce, created = ready("capture")

        def overtake(commerce: Commerce = commerce, created: Any = created) -> None:
            commerce.world.now += rules.MAX_DELAY / 60
            due_payments.look(commerce.services, created.payment.payable_id, set())

        answered = commerce.capture(created, 10, 0, commerce.guarded(Interruption(position, overtake)))
        assert (answered.kind.value, answered.amount) == ("capture", 10)


@pytest.mark.parametrize("why", ["refused", "too late"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_given_up_is_not_sent_by_a_worker_that_was_slow_and_dies(kind: str, why: str) -> None:
    """Another worker gives the operation up at each call of the first one, which may still submit it, and dies."""

    def given_up(commerce: Commerce) -> None:
        if why == "refused":
            commerce.refuses = dict.fromkeys((kind, "transferFrom"), "refused for now")
        else:
            commerce.world.now += rules.SUBMITTED_WITHIN
        with suppress(SweepIncomplete):
            due_payments.run_due(commerce.services)
        commerce.refuses.clear()

    wire = Tripwire()
    commerce, created = ready(kind)
    begin(commerce, created, kind, commerce.guarded(wire))
    for position in range(1, wire.calls + 1):
        commerce, created = ready(kind)
        slow = Interruption(position, lambda commerce=commerce: given_up(commerce))
        with suppress(ServiceError, WriteConflict):
            begin(commerce, created, kind, commerce.guarded(slow))
        sent = commerce.made[kind]
        while commerce.load(created).pending is not None:
            commerce.minute()
        if commerce.load(created).failure is not None:
            assert commerce.made[kind] == sent == 0
        check_conserved(commerce)


@pytest.mark.parametrize("part", parts(3))
@pytest.mark.parametrize("minute", range(4))
def test_the_schedule_may_die_at_any_call_of_a_refund_and_two_may_run_at_once(minute: int, part: int) -> None:
    def at() -> tuple[Commerce, Any]:
        commerce, created = ready("refund")
        begin(commerce, created, "refund")
        commerce.settle(minute)
        return commerce, created

    wire = Tripwire()
    commerce, _ = at()
    due_payments.run_due(commerce.guarded(wire))
    for position in range(1 + part, wire.calls + 1, 3):
        for guard in (Tripwire(position, True), Tripwire(position, False)):
            commerce, created = at()
            with suppress(Crash, SweepIncomplete):
                due_payments.run_due(commerce.guarded(guard))
            check_once(commerce, created, "refund")
        commerce, created = at()
        interrupted = Interruption(position, lambda commerce=commerce: due_payments.run_due(commerce.services))
        with suppress(SweepIncomplete):
            due_payments.run_due(commerce.guarded(interrupted))
        check_once(commerce, created, "refund")


@pytest.mark.parametrize("answers", ["refused", "timeout before", "timeout after"])
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_node_answers_to_the_sending_the_effect_is_one(kind: str, answers: str) -> None:
    commerce, created = ready(kind)
    commerce.chain.mempool.answers = answers
    with suppress(ServiceError, NodeTimeout):
        begin(commerce, created, kind)
    commerce.settle(1)
    commerce.chain.mempool.answers = "ok"
    check_once(commerce, created, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_that_does_not_answer_delays_an_operation_and_no_other_effect(kind: str) -> None:
    commerce, created = ready(kind)
    commerce.chain.is_down = True
    with suppress(ServiceError):
        begin(commerce, created, kind)
    commerce.chain.is_down = False
    check_once(commerce, created, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_another_transaction_with_its_nonce_takes_the_operation_back_and_it_can_be_asked_for_again(kind: str) -> None:
    commerce, created = ready(kind)
    commerce.chain.mempool.holds = True
    begin(commerce, created, kind)
    commerce.chain.mempool.waiting.clear()
    commerce.chain.mempool.steal_nonce(OPERATOR)
    commerce.chain.mempool.holds = False
    commerce.settle(4)
    check_once(commerce, created, kind)


@pytest.mark.parametrize("part", parts(6))
def test_operations_in_any_order_and_trouble_move_exactly_what_the_books_say(part: int) -> None:
    """60 histories of operations, failures, silences, crashes and late workers."""
    for seed in range(part, 60, 6):
        chance, (commerce, created) = random.Random(seed), ready("capture", seed)
        for _ in range(chance.randint(3, 12)):
            commerce.fails = {each for each in ("capture", "void", "refund", "approve") if chance.random() < 0.2}
            commerce.chain.is_down = chance.random() < 0.1
            commerce.allow(PAYEE, OPERATOR, chance.randint(0, AMOUNT))
            services = commerce.services
            if chance.random() < 0.4:
                services = commerce.guarded(Tripwire(chance.randint(1, 20), chance.random() < 0.5))
            with suppress(Crash, ServiceError, WriteConflict):
                match chance.randint(0, 3):
                    case 0:
                        commerce.capture(created, chance.randint(1, AMOUNT), 100, services)
                    case 1:
                        commerce.refund(created, chance.randint(1, AMOUNT), services)
                    case 2:
                        commerce.void(created, services) if chance.random() < 0.3 else None
                    case _:
                        due_payments.run_due(services)
            commerce.chain.is_down = False
            with suppress(SweepIncomplete):
                commerce.minute()
        commerce.fails.clear()
        commerce.settle(45)
        payment, (authorized,) = commerce.load(created), commerce.payments.values()
        assert payment.pending is None, payment
        assert (payment.capturable, payment.refundable) == (authorized.capturable, authorized.refundable)
        assert payment.authorized == payment.captured + payment.voided + payment.reclaimed + payment.capturable
        check_conserved(commerce)
