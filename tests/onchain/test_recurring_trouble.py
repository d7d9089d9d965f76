"""Each period of a recurring payout is executed exactly once on a real chain, whatever goes wrong on the way.

What is counted is the chain: the events of the fee proxy for the reference of each period, and the bits of the contract.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from chalicelib.recurring import flows as recurring
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.relayer.records import CallStatus
from infra.local.chain import Chain
from tests.fakes.crash import Crash
from tests.onchain.hostile import assemble
from tests.onchain.payer import FUSDC
from tests.onchain.payouts import MONEY, NETWORK, PayoutsOnChain
from tests.onchain.troubled_node import SEND, Trouble

START = datetime(2047, 3, 15, 10, 0, tzinfo=UTC)
GWEI = 10**9


@pytest.fixture(scope="module")
def running() -> Iterator[Chain]:
    """A chain of its own, because its clock is moved by days."""
    with Chain.start(NETWORK) as chain:
        yield chain


@pytest.fixture
def payouts(running: Chain) -> Iterator[PayoutsOnChain]:
    before = running.snapshot()
    made = PayoutsOnChain(running, START, recurring_retry_seconds=600, relayer_stuck_seconds=60)
    yield made
    made.node.stop()
    running.rpc("evm_setAutomine", True)
    running.revert(before)


def run_to_end(payouts: PayoutsOnChain, schedule: RecurringPayment, most_minutes: int = 120) -> None:
    """Runs past the date of every payment, until each is counted."""
    for day in range(schedule.total):
        payouts.jump_to(schedule.start + timedelta(days=day, seconds=-70))
        payouts.run_past(schedule.start + timedelta(days=day), most_minutes)


def assert_each_is_paid_once(
    payouts: PayoutsOnChain, schedule: RecurringPayment, transactions: int | None = None
) -> None:
    """`transactions` is how many the service's account has made for the payout, if not one for each period."""
    found, periods = payouts.find(schedule)
    assert found.status is RecurringStatus.COMPLETED
    assert payouts.references(schedule) == [each.payment_reference for each in periods]
    assert [each.number for each in periods] == list(range(1, schedule.total + 1))
    assert payouts.bitmap(schedule) == 2 ** (schedule.total + 1) - 2
    spent = schedule.total * schedule.permit.payment_total
    assert payouts.real.token_balance(FUSDC, schedule.permit.subscriber) == MONEY - spent
    assert payouts.real.token_balance(FUSDC, schedule.permit.recipient) == spent
    of_schedule = [each for each in payouts.calls() if schedule.recurring_id in each.call_key]
    assert len(of_schedule) == (transactions or schedule.total)


# --- two workers ---


def test_messages_that_come_twice_execute_nothing_twice(payouts: PayoutsOnChain) -> None:
    payouts.copies = 2
    schedule = payouts.begin()
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)


@pytest.mark.parametrize("at", range(1, 9))
def test_a_second_worker_at_any_call_to_the_node_executes_nothing_twice(payouts: PayoutsOnChain, at: int) -> None:
    """While one worker waits for the answer to every eighth call, another one handles the same message."""
    schedule = payouts.begin()
    calls = overtaken = 0

    def trouble(methods: Sequence[str]) -> None:
        nonlocal calls, overtaken
        calls += payouts.in_work is not None
        if calls % 8 == at % 8:
            overtaken += payouts.overtake()

    payouts.node.trouble = trouble
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)
    assert overtaken


# --- sending that ends in the middle ---


@pytest.mark.parametrize("is_sent", [True, False], ids=["after", "before"])
def test_a_crash_around_the_broadcast_is_made_up_for(payouts: PayoutsOnChain, is_sent: bool) -> None:
    """The worker ends when the node has the transaction, or is about to get it, and can record nothing about it."""
    schedule = payouts.begin()
    crash_at_sending(payouts, lambda is_new: is_new, is_sent)
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)
    assert payouts.failed["recurring: Crash"] == 3


def crash_at_sending(payouts: PayoutsOnChain, crashes: Callable[[bool], bool], is_sent: bool) -> None:
    """The worker ends where it sends something, if `crashes` says so, which is told whether all of it is new."""
    chain = payouts.services.chains.evm(NETWORK)
    send, known = chain.send_raw, set[str]()

    def crash(signed: Sequence[str]) -> tuple[str | None, ...]:
        is_last = crashes(known.isdisjoint(signed))
        known.update(signed)
        answers = send(signed) if is_sent or not is_last else ()
        if is_last:
            raise Crash
        return answers

    chain.send_raw = crash  # type: ignore[method-assign]


@pytest.mark.parametrize("kind", Trouble)
def test_a_transaction_whose_sending_ends_badly_is_executed_once(payouts: PayoutsOnChain, kind: Trouble) -> None:
    """RPC timeouts before and after the node took it, and a node that takes it and drops it: the first in each period."""
    schedule = payouts.begin()
    sent = 0

    def trouble(methods: Sequence[str]) -> Trouble | None:
        nonlocal sent
        sent += SEND in methods
        return kind if SEND in methods and sent % 3 == 1 else None

    payouts.node.trouble = trouble
    run_to_end(payouts, schedule)
    assert sent >= 3
    assert_each_is_paid_once(payouts, schedule)


def test_a_node_that_answers_nothing_for_an_hour_delays_payments_and_repeats_none(payouts: PayoutsOnChain) -> None:
    schedule = payouts.begin()
    outage = (schedule.start, schedule.start + timedelta(hours=1))

    def trouble(methods: Sequence[str]) -> Trouble | None:
        if not outage[0] <= payouts.world.now <= outage[1]:
            return None
        return Trouble.NO_ANSWER if SEND in methods else Trouble.NO_REQUEST

    payouts.node.trouble = trouble
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)


# --- what becomes of transactions ---


def test_a_stuck_transaction_is_replaced_and_one_of_both_is_executed(payouts: PayoutsOnChain) -> None:
    """Fees rise before its block, so that the node keeps it waiting until it is replaced at the same nonce."""
    schedule = payouts.begin()
    payouts.jump_to(schedule.start - timedelta(seconds=30))
    payouts.node.trouble = lambda methods: payouts.raise_base_fee(30 * GWEI) if SEND in methods else None
    payouts.run_past(schedule.start, 60)
    payouts.node.trouble = lambda methods: None
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)
    transactions = payouts.transactions()
    assert len(transactions[0].hashes) > 1, "it was replaced"
    assert [each.nonce for each in transactions] == [0, 1, 2], "never sent again with another nonce"


def test_a_transaction_that_reverts_is_tried_again_later_by_another_one(payouts: PayoutsOnChain) -> None:
    """The payer withdraws the allowance after the simulation, in the same block and before the payment."""
    schedule = payouts.begin()
    withdrawn = 0

    def trouble(methods: Sequence[str]) -> None:
        nonlocal withdrawn
        if SEND in methods and not withdrawn:
            withdrawn += 1
            payouts.withdraw_at_once(schedule)

    payouts.node.trouble = trouble
    payouts.jump_to(schedule.start - timedelta(seconds=30))
    for _ in range(5):
        payouts.minute()
    found = payouts.load(schedule)
    assert (found.failures, found.failure_reason, found.processed) == (1, "Insufficient token allowance", 0)
    payouts.allow(payouts.payer, MONEY)
    for _ in range(15):  # longer than a payment that is refused before it is sent waits
        payouts.minute()
    assert payouts.load(schedule).processed == 0, "a payer's next call is made a day after one that was reverted"
    payouts.jump_to(payouts.world.now + timedelta(days=1))
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule, transactions=4)
    statuses = [call.status for call in payouts.calls()]
    assert statuses == [CallStatus.REVERTED, *[CallStatus.SUCCEEDED] * 3]


def test_a_payment_whose_block_is_replaced_by_the_chain_is_in_another_block_once(payouts: PayoutsOnChain) -> None:
    schedule = payouts.begin()
    payouts.jump_to(schedule.start - timedelta(seconds=30))
    before, height = payouts.real.snapshot(), payouts.height()
    while not payouts.executions(schedule):
        payouts.tick()
        payouts.work()
        payouts.block(20)
    payouts.real.revert(before)
    assert payouts.executions(schedule) == []
    for _ in range(payouts.height(), height + 4):
        payouts.block(10)
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)


def test_a_counted_payment_that_a_deep_fork_removes_is_sent_again_and_counted_again(payouts: PayoutsOnChain) -> None:
    """No node has the transaction any more: the service's own copy is what brings it back."""
    unhurried = replace(payouts.services.settings, relayer_stuck_seconds=600)
    payouts.world.services = replace(payouts.services, settings=unhurried)
    schedule = payouts.begin()
    payouts.jump_to(schedule.start - timedelta(seconds=30))
    before = payouts.real.snapshot()
    payouts.run_past(schedule.start)
    payouts.minute()
    height, (paid,) = payouts.height(), payouts.find(schedule)[1]
    assert payouts.load(schedule).processed == 1 and payouts.calls()[0].status is CallStatus.SUCCEEDED
    payouts.real.revert(before)
    payouts.real.rpc("evm_setAutomine", False)
    payouts.node.trouble = lambda methods: Trouble.NO_REQUEST if SEND in methods else None
    while payouts.height() < height + 4:
        payouts.block(2)
    for _ in range(4):
        payouts.minute()
    found, (period,) = payouts.find(schedule)
    assert (found.processed, found.status, period.payment_id) == (0, RecurringStatus.ACTIVE, None)
    assert payouts.calls()[0].status is CallStatus.UNKNOWN and payouts.executions(schedule) == []
    payouts.node.trouble = lambda methods: None
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)
    assert payouts.find(schedule)[1][0].tx_hash == paid.tx_hash, "the same bytes"


# --- what payers and tokens do ---


def test_an_allowance_that_is_withdrawn_pauses_after_three_attempts_and_missed_payments_are_caught_up(
    payouts: PayoutsOnChain,
) -> None:
    schedule = payouts.begin(total_payments=4)
    payouts.world.register_webhook()
    payouts.jump_to(schedule.start - timedelta(seconds=70))
    payouts.run_past(schedule.start)
    payouts.allow(payouts.payer, 0)
    payouts.jump_to(schedule.start + timedelta(days=1, seconds=-70))
    payouts.run_past(schedule.start + timedelta(days=1), 60)
    found = payouts.load(schedule)
    assert (found.status, found.failures) == (RecurringStatus.PAUSED, 3)
    assert found.failure_reason == "Insufficient token allowance"
    assert len(payouts.calls()) == 1, "what would revert is not sent"
    payouts.jump_to(schedule.start + timedelta(days=2, hours=1))
    payouts.allow(payouts.payer, MONEY)
    recurring.resume(payouts.services, payouts.owner, schedule.recurring_id)
    payouts.run_past(payouts.world.now, 60)
    assert len(payouts.executions(schedule)) == 3, "the two that were missed, one after the other"
    run_to_end(payouts, schedule)
    assert_each_is_paid_once(payouts, schedule)
    assert payouts.world.receiver.events.count("payment.failed") == 1


def test_a_token_that_returns_false_pays_nothing_and_pauses(payouts: PayoutsOnChain) -> None:
    schedule = payouts.begin()
    code = payouts.real.rpc("eth_getCode", FUSDC, "latest")
    payouts.real.rpc("anvil_setCode", FUSDC, "0x" + assemble("PUSH0 PUSH0 MSTORE 0x20 PUSH0 RETURN").hex())
    payouts.jump_to(schedule.start - timedelta(seconds=70))
    payouts.run_past(schedule.start, 60)
    payouts.real.rpc("anvil_setCode", FUSDC, code)
    assert payouts.load(schedule).status is RecurringStatus.PAUSED
    assert payouts.executions(schedule) == []
    assert payouts.calls() == []
    assert payouts.bitmap(schedule) == 0


def test_a_period_that_was_paid_by_hand_is_passed_over(payouts: PayoutsOnChain) -> None:
    schedule = payouts.begin()
    payouts.pay_by_hand(schedule)
    payouts.minute()
    run_to_end(payouts, schedule)
    found, periods = payouts.find(schedule)
    assert found.status is RecurringStatus.COMPLETED
    assert payouts.references(schedule) == [each.payment_reference for each in periods]
    assert payouts.bitmap(schedule) == 0b1100, "the contract has paid the second and the third"


# --- all of it at random ---


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_at_random_each_period_is_paid_once(payouts: PayoutsOnChain, seed: int) -> None:
    chance, begun = Random(seed), [payouts.begin(total_payments=6) for _ in range(2)]
    payouts.copies = 1 + seed % 2

    def trouble(methods: Sequence[str]) -> Trouble | None:
        if chance.random() < 0.05:
            payouts.overtake()
        if chance.random() < (0.4 if SEND in methods else 0.05):
            return chance.choice(list(Trouble))
        if SEND in methods and chance.random() < 0.2:
            payouts.raise_base_fee(chance.randint(1, 20) * GWEI)
        return None

    payouts.node.trouble = trouble
    crash_at_sending(payouts, lambda _: chance.random() < 0.2, is_sent=chance.random() < 0.5)
    for day in range(6):
        moment = begun[0].start + timedelta(days=day)
        payouts.jump_to(moment - timedelta(seconds=70))
        payouts.run_past(moment, 600)
    for schedule in begun:
        assert_each_is_paid_once(payouts, schedule)
    assert [each.nonce for each in payouts.transactions()] == list(range(12))
