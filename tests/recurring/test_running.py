"""Recurring payouts as they run, on a chain in memory: success, failure, pauses, and what nobody knows yet."""

import json
from dataclasses import replace

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.errors import BadRequest
from chalicelib.base.money import Fee
from chalicelib.payments.recording.jobs import record_transfers
from chalicelib.payments.requests.payments.records import Payment, PaymentKind
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.recurring import flows, running
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from chalicelib.recurring.responses import answer_changed
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.reverts import payer_name
from tests.bench.calls import counted
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.recurring import AMOUNT, Recurring
from tests.fakes.world import FEE_ADDRESS, in_process_aws
from tests.relayer.test_tracking import Lines


def test_every_period_is_paid_when_it_is_due_and_then_it_is_completed() -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.settle()
    assert shop.load(schedule).processed == 1
    shop.jump(hours=23)
    shop.settle()
    assert shop.load(schedule).processed == 1
    for processed in (2, 3):
        shop.jump(days=1)
        shop.settle()
        assert shop.load(schedule).processed == processed
    after, periods = shop.find(schedule)
    assert (after.status, after.check_at) == (RecurringStatus.COMPLETED, None)
    assert [each.number for each in periods] == [1, 2, 3]
    assert list(shop.proxy.made.values()) == [1, 1, 1]
    assert [each.payment_reference for each in periods] == shop.proxy.references
    assert shop.committed == 0


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_what_is_told_as_confirmed_is_counted_at_once_and_a_cancel_answers_what_remains(is_cancelled: bool) -> None:
    """The run that counts a payment comes later, and finds nothing to do then."""
    shop = Recurring()
    schedule = shop.start()
    for paid in (1, 2, 3):
        for _ in range(4):
            shop.minute()
            notified = len(shop.events("payment.confirmed"))
            shown, periods = shop.find(schedule)
            assert shown.processed == notified == sum(each.payment_id is not None for each in periods)
            if notified == paid:
                break
        else:
            pytest.fail("it was not paid")
        if paid == 2 and is_cancelled:
            (stored,) = shop.store.all(RecurringPayment)
            assert stored.processed == 1, "the run has not counted it"
            cancelled = flows.cancel(shop.services, shop.owner, schedule.recurring_id)
            answer = answer_changed(cancelled, "published").model_dump()
            assert answer["metadata"] == {
                "remainingPayments": 1,
                "remainingAmount": str(AMOUNT),
                "remainingPaymentsAmount": str(AMOUNT),
                "processedPayments": 2,
                "totalPayments": 3,
            }
            shop.settle()
            assert (shop.load(schedule).processed, shop.committed) == (2, 0)
            return
        shop.jump(days=1)
    assert shop.load(schedule).status is RecurringStatus.COMPLETED
    with pytest.raises(BadRequest, match="completed"):
        flows.cancel(shop.services, shop.owner, schedule.recurring_id)


def test_a_period_has_a_request_an_event_and_a_payment_that_name_the_payout() -> None:
    shop = Recurring()
    shop.world.register_webhook()
    schedule = shop.start(total_payments=2, fee=Fee("1", FEE_ADDRESS))
    shop.settle()
    shop.jump(days=1)
    shop.settle()
    first, second = shop.find(schedule)[1]
    made = shop.events("request.recurring")
    assert [each["requestId"] for each in made] == [first.request_id, second.request_id]
    assert {each["originalRequestId"] for each in made} == {first.request_id}
    assert {each["originalRequestPaymentReference"] for each in made} == {first.payment_reference}
    confirmed = shop.events("payment.confirmed")
    assert [each["requestId"] for each in confirmed] == [first.request_id, second.request_id]
    assert {each["recurringPayment"]["id"] for each in (*made, *confirmed)} == {schedule.recurring_id}
    assert [each["fees"] for each in confirmed] == [[{"type": "platform", "amount": "0.1", "currency": "fUSDC"}]] * 2
    for body in (*made, *confirmed):
        assert_is_described(body)
    stored = sorted(shop.store.all(Payment), key=lambda each: each.at)
    assert [each.payment_id for each in stored] == [first.payment_id, second.payment_id]
    assert {each.type for each in stored} == {PaymentKind.RECURRING}
    assert {each.recurring_payment_id for each in stored} == {schedule.recurring_id}
    assert {each.payer for each in shop.store.all(Request)} == {shop.payer.address}
    assert "request.recurring" in shop.world.receiver.events


def test_without_a_fee_the_permit_names_the_zero_address() -> None:
    assert Recurring().create().permit.fee_address == ZERO_ADDRESS


@pytest.mark.parametrize(
    ("holding", "reason", "sub_status"),
    [
        ({"allowance": AMOUNT - 1}, "Insufficient token allowance", "failed"),
        ({"balance": AMOUNT - 1}, "Insufficient token balance", "insufficient_funds"),
    ],
    ids=str,
)
def test_after_three_failures_it_is_paused_with_one_event(holding: dict[str, int], reason: str, sub_status: str) -> None:
    shop = Recurring(recurring_retry_seconds=3600)
    schedule = shop.start()
    shop.proxy.set(**holding)
    for failures in (1, 2):
        shop.settle(2)
        found = shop.load(schedule)
        assert (found.status, found.failures, found.failure_reason) == (RecurringStatus.ACTIVE, failures, reason)
        shop.settle(2)
        assert shop.load(schedule).failures == failures, "the next attempt is an hour later"
        shop.jump(hours=1)
    assert not shop.events("payment.failed")
    shop.settle(2)
    paused = shop.load(schedule)
    assert (paused.status, paused.failures, paused.failure_reason) == (RecurringStatus.PAUSED, 3, reason)
    (event,) = shop.events("payment.failed")
    assert (event["subStatus"], event["failureReason"]) == (sub_status, reason)
    assert (event["amount"], event["totalAmountPaid"], event["txHash"]) == ("10", "0", None)
    assert event["recurringPayment"] == {"id": schedule.recurring_id}
    assert_is_described(event)
    shop.jump(days=2)
    shop.settle()
    assert shop.load(schedule) == paused and not shop.proxy.made
    assert shop.committed == 3 * AMOUNT, "what is paused is still to be paid"


def test_a_token_that_returns_false_is_a_failure_with_the_contracts_reason() -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.proxy.refusal = "the token's transfer returned false"
    shop.settle(2)
    found = shop.load(schedule)
    assert (found.failures, found.failure_reason) == (1, "the token's transfer returned false")
    assert not shop.world.chain.mempool.sent


def test_a_success_forgets_the_failures_before_it() -> None:
    shop = Recurring(recurring_retry_seconds=60)
    schedule = shop.start()
    shop.proxy.set(allowance=0)
    shop.settle(2)
    assert shop.load(schedule).failures == 2
    shop.proxy.set(allowance=10**12)
    shop.settle(4)
    found = shop.load(schedule)
    assert (found.processed, found.failures, found.failure_reason) == (1, 0, None)


def test_a_paused_one_that_is_resumed_makes_up_for_missed_payments_one_after_the_other() -> None:
    shop = Recurring(recurring_retry_seconds=60)
    schedule = shop.start()
    shop.proxy.set(allowance=0)
    shop.settle(6)
    assert shop.load(schedule).status is RecurringStatus.PAUSED
    shop.jump(days=2)
    shop.proxy.set(allowance=10**12)
    flows.resume(shop.services, shop.owner, schedule.recurring_id)
    seen = []
    for _ in range(12):
        shop.minute()
        seen.append(shop.load(schedule).processed)
    assert seen == sorted(seen) and set(seen) >= {1, 2, 3}
    assert list(shop.proxy.made.values()) == [1, 1, 1]
    assert shop.load(schedule).status is RecurringStatus.COMPLETED


def test_a_payer_with_many_schedules_has_one_call_reverted_in_a_day() -> None:
    shop = Recurring(recurring_retry_seconds=60)
    schedules = [shop.start() for _ in range(12)]
    shop.world.chain.mempool.executes = lambda raw: "ERC20: transfer amount exceeds balance"
    shop.settle(60)
    assert len(shop.world.chain.mempool.sent) == 1
    assert {shop.load(each).status for each in schedules} == {RecurringStatus.ACTIVE}
    requested = {shop.find(each)[1][0].request_id for each in schedules}
    assert len(requested) == 12, "each has its request when it is due"


def test_a_payroll_of_one_wallet_is_paid_within_half_an_hour_and_in_a_few_minutes_the_next_time() -> None:
    shop = Recurring()
    schedules = [shop.start(total_payments=2) for _ in range(40)]

    def minutes_until(processed: int) -> int:
        for minute in range(60):
            if min(shop.load(each).processed for each in schedules) == processed:
                return minute
            shop.minute()
        pytest.fail("they are not paid within an hour")

    assert minutes_until(1) <= 30
    shop.jump(days=1)
    assert minutes_until(2) <= 10
    assert set(shop.proxy.made.values()) == {1} and len(shop.proxy.made) == 80


def test_one_whose_permit_has_ended_is_not_resumed() -> None:
    shop = Recurring(recurring_retry_seconds=60)
    shop.proxy.set(allowance=0)
    schedule = shop.start()
    shop.settle(6)
    shop.jump(days=93)
    before = shop.load(schedule)
    assert before.status is RecurringStatus.PAUSED
    with pytest.raises(BadRequest, match="The permit of this recurring payment can be used no longer: create another"):
        flows.resume(shop.services, shop.owner, schedule.recurring_id)
    assert shop.load(schedule) == before


def test_a_date_that_the_newest_block_has_not_reached_is_no_failure() -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.proxy.refusal = "the payment of the schedule is not due yet"
    shop.settle(5)
    found = shop.load(schedule)
    assert found.failures == 0 and found.attempt > 1
    shop.proxy.refusal = None
    shop.settle()
    assert shop.load(schedule).processed == 1


@pytest.mark.parametrize("reason", ["AccessControl: account 0x12 is missing role 0x34", "Pausable: paused"])
def test_a_contract_that_takes_nothing_from_the_service_is_no_failure_of_the_payer(reason: str) -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.proxy.refusal = reason
    shop.settle(20)
    assert shop.load(schedule).failures == 0
    shop.proxy.refusal = None
    shop.settle(8)
    assert shop.load(schedule).processed == 1


def test_an_account_without_gas_money_is_no_failure_of_the_payer() -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.world.chain.mempool.balance = 0
    shop.settle(20)
    assert shop.load(schedule).failures == 0 and not shop.proxy.made
    shop.world.chain.mempool.balance = 10**21
    shop.settle(8)
    assert shop.load(schedule).processed == 1


def test_a_nonce_that_somebody_else_used_is_no_failure_of_the_payer() -> None:
    shop = Recurring(recurring_retry_seconds=3600)
    schedule = shop.start()
    mempool = shop.world.chain.mempool
    mempool.holds = True
    shop.world.advance(60)
    running.start_due(shop.services)
    _drain_recurring(shop)
    executes, mempool.executes = mempool.executes, lambda raw: None
    mempool.steal_nonce(mempool.sent[0].sender)
    mempool.executes, mempool.holds = executes, False
    mempool.waiting.clear()
    shop.settle(30)
    found = shop.load(schedule)
    assert (found.processed, found.attempt, found.failures) == (1, 1, 0)
    assert [index for _, index in shop.proxy.made] == [1]


def test_a_node_that_does_not_answer_is_no_failure_of_the_payer() -> None:
    shop = Recurring()
    schedule = shop.start()
    shop.world.chain.is_down = True
    shop.world.advance(60)
    running.start_due(shop.services)
    shop.world.drain()
    assert (shop.load(schedule).failures, shop.load(schedule).status) == (0, RecurringStatus.ACTIVE)
    shop.world.chain.is_down = False
    shop.settle(4)
    assert list(shop.proxy.made.values()) == [1]


def test_a_payment_that_reverts_on_the_chain_is_tried_again_with_another_transaction_a_day_later() -> None:
    shop = Recurring(recurring_retry_seconds=60)
    schedule = shop.start()
    mempool = shop.world.chain.mempool
    mempool.holds = True
    shop.settle(2)
    assert mempool.sent
    shop.proxy.set(allowance=0)
    mempool.holds = False
    for _ in range(10):
        if shop.load(schedule).failures == 0:
            shop.minute()
    assert shop.load(schedule).failure_reason == "Insufficient token allowance"
    shop.proxy.set(allowance=10**12)
    shop.settle(5)
    assert (shop.load(schedule).processed, shop.load(schedule).failures) == (0, 1), "the payer waits, and has not failed"
    account, payer = (relayer_store.reverts(shop.store, "sepolia", each) for each in (
        shop.world.account_id, payer_name(shop.payer.address)
    ))  # fmt: skip
    assert account is None and payer is not None and payer.count == 1
    shop.jump(days=1)
    shop.settle(5)
    assert shop.load(schedule).processed >= 1
    assert len({raw.nonce for raw in mempool.sent}) > 2 and set(shop.proxy.made.values()) == {1}


def test_a_transaction_that_is_long_in_no_block_is_never_repeated_under_another_key() -> None:
    shop = Recurring()
    schedule = shop.start()
    mempool = shop.world.chain.mempool
    mempool.holds = True
    shop.world.advance(60)
    running.start_due(shop.services)
    for _ in range(200):
        shop.world.advance(60)
        running.start_due(shop.services)
        _drain_recurring(shop)
    assert len({raw.nonce for raw in mempool.sent}) == 1
    assert (shop.load(schedule).failures, shop.load(schedule).attempt) == (0, 1)
    mempool.holds = False
    shop.settle(15)
    assert shop.load(schedule).processed == 1 and list(shop.proxy.made.values()) == [1]


def _drain_recurring(shop: Recurring) -> None:
    """Consumes what is queued for the worker alone, so that no transaction gets into a block."""
    waiting = [each for each in shop.world.queue.messages if each.queue.endswith("recurring")]
    for each in waiting:
        shop.world.queue.messages.remove(each)
        running.execute_recurring(shop.services, each.body)


def test_a_period_whose_request_was_paid_by_hand_is_passed_over() -> None:
    shop = Recurring()
    schedule = shop.start()
    (period,) = shop.find(schedule)[1]
    (request,) = [each for each in shop.store.all(Request) if each.request_id == period.request_id]
    shop.world.chain.pay(request)
    shop.world.scan()
    shop.settle()
    found = shop.load(schedule)
    assert (found.processed, found.status) == (1, RecurringStatus.ACTIVE)
    assert not shop.proxy.made
    shop.jump(days=1)
    shop.settle()
    assert [index for _, index in shop.proxy.made] == [2]


def test_a_payment_that_is_made_and_never_recorded_ends_in_a_pause_with_an_alarm() -> None:
    """As if the contract paid by another fee proxy, whose events do not count."""
    shop = Recurring()
    schedule = shop.start()
    lines = Lines()
    shop.world.services = replace(shop.services, log=lines)  # type: ignore[arg-type]
    shop.world.chain.pay_too = lambda *paid, **more: {}  # type: ignore[method-assign]
    shop.settle(55)
    assert (shop.load(schedule).status, shop.load(schedule).processed) == (RecurringStatus.ACTIVE, 0)
    for _ in range(2):
        shop.settle(75)
        found = shop.load(schedule)
        assert (found.status, found.failures) == (RecurringStatus.PAUSED, 0)
        assert found.failure_reason == "The payment was made, but the fee proxy of this network has no event of it"
        flows.resume(shop.services, shop.owner, schedule.recurring_id)
    notified = {"recurring_id": schedule.recurring_id, "network": "sepolia", "period": 1}
    assert lines.of("recurring payment not recorded") == [notified] * 2
    failed = shop.events("payment.failed")
    assert [each["failureReason"] for each in failed] == [found.failure_reason] * 2
    assert list(shop.proxy.made.values()) == [1] and len(shop.world.chain.mempool.executed) == 1


def test_a_payment_that_is_made_waits_while_the_chain_is_not_read() -> None:
    shop = Recurring()
    schedule = shop.start()
    scan, shop.world.scan = shop.world.scan, lambda *services: None  # type: ignore[method-assign]
    shop.settle(180)
    assert list(shop.proxy.made.values()) == [1]
    assert shop.load(schedule).status is RecurringStatus.ACTIVE
    shop.world.scan = scan  # type: ignore[method-assign]
    shop.settle(12)
    found = shop.load(schedule)
    assert (found.status, found.processed, found.unrecorded_since) == (RecurringStatus.ACTIVE, 1, None)


def test_a_message_that_comes_twice_changes_nothing() -> None:
    shop = Recurring()
    schedule = shop.start()
    body = json.dumps({"network": "sepolia", "recurring": [schedule.recurring_id, "01UNKNOWN"]})
    running.execute_recurring(shop.services, body)
    found = shop.load(schedule)
    running.execute_recurring(shop.services, body)
    assert shop.load(schedule) == found
    assert len(shop.world.chain.mempool.sent) == 1


def test_one_that_fails_to_be_read_stops_no_other() -> None:
    shop = Recurring()
    broken, sound = shop.start(), shop.start()
    (period,) = shop.find(broken)[1]
    key = Request.KEY.of(payable_id=period.request_id, position=0)
    shop.store._remove(key)
    body = json.dumps({"network": "sepolia", "recurring": [broken.recurring_id, sound.recurring_id]})
    with pytest.raises(SweepIncomplete, match="1 records failed"):
        running.execute_recurring(shop.services, body)
    assert len(shop.world.chain.mempool.sent) == 1
    assert shop.load(sound).sent_at is not None


def test_what_a_payment_costs_in_calls_to_dynamodb() -> None:
    """Handing it to the relayer, looking at it, and counting it; the relayer's and the recorder's own calls apart."""
    with in_process_aws() as client:
        shop = Recurring()
        shop.world.services = replace(shop.services, store=shop.world.start(client).store)
        schedule = shop.start(total_payments=3)
        body = json.dumps({"network": "sepolia", "recurring": [schedule.recurring_id]})
        costs = []
        for _ in range(2):
            shop.world.advance(60)
            with counted(client) as calls:
                running.execute_recurring(shop.services, body)
            costs.append(dict(calls.by_operation))
            shop.world.drain()
            shop.world.scan()
            for message in [each for each in shop.world.queue.messages if each.queue.endswith("recordings")]:
                record_transfers(shop.services, message.body)
        submitting, counting = costs
        assert submitting == {"BatchGetItem": 3, "UpdateItem": 2, "TransactWriteItems": 1, "GetItem": 1}, submitting
        assert counting == {"BatchGetItem": 2, "Query": 1, "TransactWriteItems": 1}
        assert shop.load(schedule).processed == 1
