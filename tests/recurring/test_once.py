"""Each period is executed once: whatever call a process dies at, whoever works at the same time, however nodes answer."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.recurring import flows, running
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.relayer.records import TakenFunds
from tests.fakes.crash import Crash, Interruption, Tripwire
from tests.fakes.recurring import AMOUNT, Recurring
from tests.support.rehearsed import few

OPEN = (RecurringStatus.ACTIVE, RecurringStatus.PAUSED)


def tick(shop: Recurring, services: object) -> None:
    """What a process does in one minute: the sweep, and each message that it finds."""
    running.start_due(services)  # type: ignore[arg-type]
    for message in [each for each in shop.world.queue.messages if each.queue.endswith("recurring")]:
        shop.world.queue.messages.remove(message)
        running.execute_recurring(services, message.body)  # type: ignore[arg-type]


def begun() -> tuple[Recurring, RecurringPayment]:
    """One payout whose first period is due."""
    shop = Recurring()
    schedule = shop.start(total_payments=2)
    shop.world.drain()
    shop.world.advance(60)
    return shop, schedule


def paid() -> tuple[Recurring, RecurringPayment]:
    """One payout whose first period is paid, which no run has seen yet."""
    shop, schedule = begun()
    tick(shop, shop.services)
    shop.world.scan()
    shop.world.drain()
    assert shop.proxy.made
    shop.world.advance(600)
    return shop, schedule


def check_ended(shop: Recurring, schedule: RecurringPayment) -> None:
    """Runs to the end, and asserts that each period was executed once and told of once."""
    shop.settle(4)
    shop.jump(days=1)
    shop.settle(4)
    found, periods = shop.find(schedule)
    assert (found.status, found.processed, found.failures) == (RecurringStatus.COMPLETED, 2, 0)
    assert sorted(index for _, index in shop.proxy.made) == [1, 2] and set(shop.proxy.made.values()) == {1}
    assert len(periods) == 2 == len(shop.events("request.recurring")) == len(shop.events("payment.confirmed"))
    assert len({each.request_id for each in shop.store.all(Request)}) == 2
    assert shop.committed == 0


def calls_of(start: Callable[[], tuple[Recurring, RecurringPayment]]) -> int:
    shop, _ = start()
    wire = Tripwire()
    tick(shop, shop.guarded(wire))
    return wire.calls


@pytest.mark.parametrize("start", [begun, paid])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_process_that_dies_at_any_call_repeats_nothing(
    start: Callable[[], tuple[Recurring, RecurringPayment]], before: bool
) -> None:
    calls = calls_of(start)
    assert calls > 5
    for fatal in range(1, calls + 1):
        shop, schedule = start()
        with suppress(Crash):
            tick(shop, shop.guarded(Tripwire(fatal, before)))
        check_ended(shop, schedule)


@pytest.mark.parametrize("start", [begun, paid])
def test_two_workers_with_one_message_do_it_once_wherever_they_meet(
    start: Callable[[], tuple[Recurring, RecurringPayment]],
) -> None:
    for position in range(1, calls_of(start) + 1):
        shop, schedule = start()
        other = Interruption(position, lambda shop=shop: tick(shop, shop.services))
        with suppress(SweepIncomplete):
            tick(shop, shop.guarded(other))
        check_ended(shop, schedule)


@pytest.mark.parametrize("start", [begun, paid])
def test_a_cancellation_at_any_moment_leaves_no_payment_uncounted(
    start: Callable[[], tuple[Recurring, RecurringPayment]],
) -> None:
    for position in range(1, calls_of(start) + 1):
        shop, schedule = start()

        def cancel(shop: Recurring = shop, schedule: RecurringPayment = schedule) -> None:
            flows.cancel(shop.services, shop.owner, schedule.recurring_id)

        with suppress(SweepIncomplete):
            tick(shop, shop.guarded(Interruption(position, cancel)))
        shop.settle(12)
        shop.jump(days=1)
        shop.settle(4)
        found, periods = shop.find(schedule)
        assert (found.status, found.check_at) == (RecurringStatus.CANCELLED, None)
        assert found.processed == sum(shop.proxy.made.values()) == len([each for each in periods if each.payment_id])
        assert shop.committed == 0


@pytest.mark.parametrize("answer", ["refused", "timeout before", "timeout after"])
def test_whatever_the_node_says_to_a_transaction_it_is_executed_once(answer: str) -> None:
    shop, schedule = begun()
    shop.world.chain.mempool.answers = answer
    tick(shop, shop.services)
    shop.world.advance(120)
    tick(shop, shop.services)
    shop.world.chain.mempool.answers = "ok"
    check_ended(shop, schedule)
    assert len({raw.nonce for raw in shop.world.chain.mempool.sent}) == 2


def test_a_transaction_that_the_node_forgets_is_executed_once() -> None:
    shop, schedule = begun()
    tick(shop, shop.services)
    shop.world.chain.mempool.forget()
    check_ended(shop, schedule)
    assert {raw.nonce for raw in shop.world.chain.mempool.sent} == {0, 1}


def test_a_transaction_that_is_replaced_by_a_higher_fee_is_executed_once() -> None:
    shop, schedule = begun()
    mempool = shop.world.chain.mempool
    tick(shop, shop.services)
    mempool.base_fee *= 20
    for _ in range(10):
        shop.minute()
    check_ended(shop, schedule)
    assert len({raw.tx_hash for raw in mempool.sent if raw.nonce == 0}) > 1


def test_an_executed_transaction_that_a_fork_moves_is_counted_once() -> None:
    shop, schedule = begun()
    tick(shop, shop.services)
    shop.world.chain.mine()
    shop.world.chain.fork(1, moved_by=0)
    check_ended(shop, schedule)


def take_away(shop: Recurring) -> None:
    """A fork removes all blocks with executed payments, though they are final; nodes keep the transactions."""
    mempool, chain = shop.world.chain.mempool, shop.world.chain
    mempool.holds = True
    first = min(block for block, _, _ in mempool.executed.values())
    chain.fork(len(chain.blocks) - first)
    chain.mine(5)
    shop.proxy.made.clear()


@pytest.mark.parametrize("status", list(RecurringStatus)[1:])
def test_periods_that_a_deep_fork_takes_away_are_not_counted_until_they_are_on_the_chain_again(
    status: RecurringStatus,
) -> None:
    shop = Recurring(recurring_retry_seconds=60)
    schedule = shop.start(total_payments=2 if status is RecurringStatus.COMPLETED else 4)
    shop.settle(4)
    shop.jump(days=1)
    shop.settle(4)
    if status is RecurringStatus.PAUSED:
        shop.proxy.set(allowance=0)
        shop.jump(days=1)
        shop.settle(8)
        shop.proxy.set(allowance=10**12)
    if status is RecurringStatus.CANCELLED:
        flows.cancel(shop.services, shop.owner, schedule.recurring_id)
    before, paid = shop.find(schedule)
    assert (before.status, before.processed) == (status, 2)
    take_away(shop)
    shop.settle(4)
    found, periods = shop.find(schedule)
    is_completed = status is RecurringStatus.COMPLETED
    assert found.status is (RecurringStatus.ACTIVE if is_completed else status)
    assert (found.processed, found.last_payment_at) == (0, None) and not any(
        each.payment_id or each.tx_hash or each.amount or each.paid_at for each in periods
    )
    assert shop.committed == found.committed
    shop.world.chain.mempool.holds = False
    shop.settle(40)
    found, periods = shop.find(schedule)
    assert (found.status, found.processed) == (status, 2) and list(shop.proxy.made.values()) == [1, 1]
    assert [each.request_id for each in periods] == [each.request_id for each in paid]
    assert [bool(each.payment_id) for each in periods] == [bool(each.payment_id) for each in paid]
    assert shop.committed == found.committed == before.committed
    assert {raw.nonce for raw in shop.world.chain.mempool.sent} == {0, 1}
    if status is RecurringStatus.PAUSED:
        flows.resume(shop.services, shop.owner, schedule.recurring_id)
    if status in OPEN:
        shop.jump(days=3)
        shop.settle(12)
        assert shop.load(schedule).status is RecurringStatus.COMPLETED
        assert set(shop.proxy.made.values()) == {1} and sum(shop.proxy.made.values()) == 4


def test_a_fork_that_moves_a_counted_payment_changes_no_count() -> None:
    shop, schedule = begun()
    shop.settle(4)
    chain = shop.world.chain
    chain.fork(len(chain.blocks) - min(block for block, _, _ in chain.mempool.executed.values()), moved_by=0)
    chain.mine(5)
    shop.settle(4)
    assert shop.load(schedule).processed == 1
    check_ended(shop, schedule)


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_process_that_dies_while_it_takes_a_period_back_counts_it_once(before: bool) -> None:
    def taken() -> tuple[Recurring, RecurringPayment]:
        shop, schedule = begun()
        shop.settle(4)
        take_away(shop)
        shop.world.scan()
        shop.world.drain()
        return shop, schedule

    calls = calls_of(taken)
    assert calls > 5
    for fatal in range(1, calls + 1):
        shop, schedule = taken()
        with suppress(Crash):
            tick(shop, shop.guarded(Tripwire(fatal, before)))
        shop.settle(3)
        assert shop.load(schedule).processed == 0
        assert shop.committed == 2 * AMOUNT
        shop.world.chain.mempool.holds = False
        shop.settle(20)
        shop.jump(days=1)
        shop.settle(4)
        found = shop.load(schedule)
        assert (found.status, found.processed, shop.committed) == (RecurringStatus.COMPLETED, 2, 0)
        assert list(shop.proxy.made.values()) == [1, 1]


def two_of_one_payer(**holding: int) -> tuple[Recurring, list[RecurringPayment]]:
    """Two payouts that are due, whose payer has enough for one of them."""
    shop = Recurring(recurring_retry_seconds=60)
    found = [shop.start(total_payments=2) for _ in range(2)]
    shop.proxy.set(**holding)
    shop.world.drain()
    shop.world.advance(60)
    return shop, found


@pytest.mark.parametrize("holding", [{"balance": 2 * AMOUNT - 1}, {"allowance": 2 * AMOUNT - 1}], ids=["balance", "allowance"])
def test_two_payouts_of_a_payer_who_has_enough_for_one_make_one_transaction(holding: dict[str, int]) -> None:
    shop, schedules = two_of_one_payer(**holding)
    mempool = shop.world.chain.mempool
    mempool.holds = True
    for _ in range(5):
        tick(shop, shop.services)
        shop.world.advance(60)
    assert len(mempool.waiting) == 1
    assert [shop.load(each).failures for each in schedules] == [0, 0], "the other one waits"
    mempool.holds = False
    shop.settle(10)
    assert [reason for _, _, reason in mempool.executed.values()] == [None]
    assert sorted(shop.load(each).processed for each in schedules) == [0, 1]
    shop.proxy.set(10**12, 10**12)
    for each in schedules:
        with suppress(BadRequest):
            flows.resume(shop.services, shop.owner, each.recurring_id)
    shop.settle(10)
    assert [shop.load(each).processed for each in schedules] == [1, 1]
    assert not any(each.under_way for each in shop.store.all(TakenFunds))


def test_two_workers_with_payouts_of_one_payer_together_take_no_more_than_there_is() -> None:
    """Each works at one of two payouts; the second one begins at any call of the first."""

    def run(services: object, schedule: RecurringPayment) -> None:
        body = json.dumps({"network": "sepolia", "recurring": [schedule.recurring_id]})
        running.execute_recurring(services, body)  # type: ignore[arg-type]

    shop, (first, _) = two_of_one_payer(balance=2 * AMOUNT - 1)
    wire = Tripwire()
    run(shop.guarded(wire), first)
    for position in range(1, wire.calls + 1):
        shop, (first, second) = two_of_one_payer(balance=2 * AMOUNT - 1)
        shop.world.chain.mempool.holds = True
        other = Interruption(position, lambda shop=shop, second=second: run(shop.services, second))
        run(shop.guarded(other), first)
        assert len(shop.world.chain.mempool.waiting) == 1
        shop.world.chain.mempool.holds = False
        shop.settle(4)
        assert [reason for _, _, reason in shop.world.chain.mempool.executed.values()] == [None]


def test_somebody_else_with_the_key_makes_another_attempt_necessary_and_no_second_payment() -> None:
    shop, schedule = begun()
    mempool = shop.world.chain.mempool
    mempool.answers = "refused"
    tick(shop, shop.services)
    mempool.steal_nonce(shop.world.services.signing_keys.address)  # type: ignore[attr-defined]
    mempool.answers = "ok"
    for _ in range(90):
        shop.minute()
    assert sum(shop.proxy.made.values()) == 1 == shop.load(schedule).processed


@pytest.mark.parametrize("seed", few(range(4), range(12)))
def test_whatever_happens_to_payouts_of_one_payer_the_sums_hold(seed: int) -> None:
    """Random days of three payouts: signatures, cancellations, pauses, payments by hand, withdrawn allowances, nodes that
    are down, and time."""
    rng = random.Random(seed)
    shop = Recurring(seed, recurring_retry_seconds=600)
    payouts = [shop.create(total_payments=rng.randint(2, 5)) for _ in range(3)]

    def activate(each: RecurringPayment) -> None:
        shop.activate(each)

    def cancel(each: RecurringPayment) -> None:
        if rng.random() < 0.15:
            flows.cancel(shop.services, shop.owner, each.recurring_id)

    def resume(each: RecurringPayment) -> None:
        flows.resume(shop.services, shop.owner, each.recurring_id)

    def withdraw(_: RecurringPayment) -> None:
        shop.proxy.set(allowance=rng.choice([0, AMOUNT, 10**12]))

    def pay_by_hand(each: RecurringPayment) -> None:
        period = shop.find(each)[1][-1:]
        for request in shop.store.all(Request):
            if period and request.request_id == period[0].request_id and not request.paid:
                shop.world.chain.pay(request)
                return

    def time(_: RecurringPayment) -> None:
        shop.jump(hours=rng.choice([1, 12, 30]))

    def trouble(_: RecurringPayment) -> None:
        mempool = shop.world.chain.mempool
        mempool.answers = rng.choice(["ok", "ok", "timeout after", "timeout before", "refused"])
        mempool.holds = rng.random() < 0.3

    acts = [activate, cancel, resume, withdraw, pay_by_hand, time, trouble]
    for _ in range(60):
        with suppress(BadRequest):
            rng.choice(acts)(rng.choice(payouts))
        shop.settle(rng.randint(0, 2))
    shop.world.chain.mempool.answers, shop.world.chain.mempool.holds = "ok", False
    shop.proxy.set(allowance=10**12)
    shop.settle(40)
    found = [shop.load(each) for each in payouts]
    assert all(count == 1 for count in shop.proxy.made.values())
    as_stored = shop.store.all(RecurringPayment)  # what is paid by hand in a pause is stored when it is resumed
    assert shop.committed == sum(each.remaining for each in as_stored if each.status in OPEN)
    stored = [shop.find(each)[1] for each in payouts]
    assert [each.processed for each in found] == [sum(p.payment_id is not None for p in periods) for periods in stored]
    assert len(shop.events("request.recurring")) == sum(len(periods) for periods in stored)
    assert set(shop.proxy.references) <= {p.payment_reference for periods in stored for p in periods if p.payment_id is not None}


def test_the_looks_at_a_payment_become_rarer() -> None:
    shop, schedule = begun()
    shop.world.chain.mempool.holds = True
    tick(shop, shop.services)
    looks = []
    for _ in range(240):
        shop.world.advance(60)
        before = shop.load(schedule).version
        tick(shop, shop.services)
        looks += [shop.world.now] if shop.load(schedule).version > before else []
    gaps = [later - earlier for earlier, later in pairwise(looks)]
    assert gaps[0] <= timedelta(minutes=1) and timedelta(minutes=9) <= gaps[-1] <= timedelta(minutes=11)
