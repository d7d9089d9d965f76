"""Signed payments are looked at by messages when something can have happened; a lost message costs a minute."""

import json
from datetime import timedelta

import pytest

from chalicelib.crosschain.service.payment_intents import jobs
from chalicelib.crosschain.service.payment_intents.hints import MOST_LOOKS
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.relayer.tracking import track
from tests.fakes.bridge import CONFIRMATIONS, SOURCE
from tests.fakes.permits import PAYER, Permits, check_conserved

KEPT_FOR = 120
"""Seconds after which no answer of the router is used again."""
QUEUE = "payment-requests-local-payment-intents"


@pytest.fixture
def permits() -> Permits:
    return Permits()


def looks(permits: Permits) -> list[tuple[int, int]]:
    """The delay and the number of each message about payment intents that is queued, which are removed."""
    waiting = permits.world.queue.messages
    found = [each for each in waiting if each.queue == QUEUE]
    waiting[:] = [each for each in waiting if each.queue != QUEUE]
    return [(int((each.due - permits.world.now).total_seconds()), json.loads(each.body)["looks"]) for each in found]


def follow(permits: Permits, intent: PaymentIntent, number: int = 0) -> list[tuple[int, int]]:
    jobs.follow_payment_intent(permits.services, json.dumps({"paymentIntent": intent.intent_id, "looks": number}))
    return looks(permits)


def test_the_tokens_are_in_the_bridge_within_a_minute_without_the_schedule(permits: Permits) -> None:
    intent, started = permits.begun(), permits.world.now
    (pending,) = looks(permits)
    while not permits.sent:
        delay, number = pending
        permits.world.advance(delay)
        permits.chain.mine(CONFIRMATIONS)
        track(permits.services, SOURCE)
        (pending,) = follow(permits, intent, number)
    assert permits.world.now - started <= timedelta(minutes=1)
    permits.fill(permits.sent[-1])
    permits.settle(3)
    assert permits.load(intent).end is End.SETTLED
    check_conserved(permits)


def test_a_message_asks_the_router_again_when_it_failed(permits: Permits) -> None:
    intent = permits.begun()
    permits.world.advance(KEPT_FOR)
    permits.world.router.trouble = RouterUnavailable("down")
    for minute in range(14):
        permits.chain.mine(CONFIRMATIONS)
        track(permits.services, SOURCE)
        follow(permits, intent)
        permits.world.router.trouble = None if minute > 7 else permits.world.router.trouble
        permits.world.advance(60)
    assert permits.made["take"] == permits.made["deposit"] == 1
    check_conserved(permits)


def test_a_message_ends_a_payment_that_can_be_taken_no_more(permits: Permits) -> None:
    intent = permits.begun()
    permits.balances[PAYER.lower()] = 0
    for _ in range(3):
        permits.world.advance(60)
        follow(permits, intent)
    assert permits.load(intent).end is End.FAILED
    assert len(permits.events("payment.failed")) == 1


def test_the_first_look_is_at_once_and_the_next_one_when_it_is_due(permits: Permits) -> None:
    intent = permits.begun()
    assert looks(permits) == [(0, 0)]
    ((delay, number),) = follow(permits, intent)
    due = permits.load(intent).check_at
    assert due is not None and number == 1
    assert timedelta(seconds=delay - 1) < due - permits.world.now <= timedelta(seconds=delay)


def test_a_chain_of_messages_ends_before_aws_ends_it_and_the_schedule_goes_on(permits: Permits) -> None:
    intent, number = permits.begun(), 0
    looks(permits)
    while queued := follow(permits, intent, number):
        ((_, number),) = queued
    assert number == MOST_LOOKS - 1 < 16
    permits.fill(permits.run_until_bridged(intent))
    permits.settle(3)
    assert permits.load(intent).end is End.SETTLED


def test_what_is_done_or_due_later_than_the_schedule_runs_is_not_queued(permits: Permits) -> None:
    intent = permits.begun()
    permits.fill(permits.run_until_bridged(intent))
    permits.world.advance(3600)
    looks(permits)
    assert all(delay < 60 for delay, _ in follow(permits, intent))
    permits.settle(3)
    assert permits.load(intent).stage is Stage.ENDED
    assert follow(permits, intent) == []
    jobs.follow_payment_intent(permits.services, json.dumps({"paymentIntent": "none", "looks": 0}))
    assert looks(permits) == []


def test_a_message_that_comes_twice_takes_no_step_twice(permits: Permits) -> None:
    intent = permits.begun()
    for _ in range(3):
        follow(permits, intent)
    assert permits.made["take"] <= 1
    permits.fill(permits.run_until_bridged(intent))
    permits.settle(3)
    assert dict(permits.made) == {"take": 1, "approve": 1, "deposit": 1}
    check_conserved(permits)


def test_a_queue_that_refuses_messages_undoes_nothing(permits: Permits, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no queue")

    monkeypatch.setattr(permits.services.queue, "send", refuse)
    intent = permits.begun()
    assert permits.load(intent).stage is Stage.TAKING and permits.loaded().is_executed
