"""Signed payments are looked at by messages when something can have happened; a lost message costs a minute."""

import json
from datetime import timedelta

import pytest

from chalicelib.crosschain.service.payment_intents import running
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.storage.queue import MOST_HOPS, continue_chain
from chalicelib.relayer.tracking import track
from tests.fakes.bridge import CONFIRMATIONS, SOURCE
from tests.fakes.payment_intents import PAYER, PaymentIntents, check_conserved

KEPT_FOR = 120
"""Seconds after which no answer of the router is used again."""
QUEUE = "payment-requests-local-payment-intents"


@pytest.fixture
def payment_intents() -> PaymentIntents:
    return PaymentIntents()


def looks(payment_intents: PaymentIntents) -> list[tuple[int, int]]:
    """The delay and the hop of each message about payment intents that is queued, which are removed."""
    waiting = payment_intents.world.queue.messages
    found = [each for each in waiting if each.queue == QUEUE]
    waiting[:] = [each for each in waiting if each.queue != QUEUE]
    return [
        (int((each.due - payment_intents.world.now).total_seconds()), json.loads(each.body).get("hop", 0)) for each in found
    ]


def follow(payment_intents: PaymentIntents, intent: PaymentIntent, number: int = 0) -> list[tuple[int, int]]:
    body = json.dumps({"paymentIntent": intent.intent_id, "hop": number})
    with continue_chain(body):
        running.follow_payment_intent(payment_intents.services, body)
    return looks(payment_intents)


def test_the_tokens_are_in_the_bridge_within_a_minute_without_the_schedule(payment_intents: PaymentIntents) -> None:
    intent, started = payment_intents.begun(), payment_intents.world.now
    (pending,) = looks(payment_intents)
    while not payment_intents.sent:
        delay, number = pending
        payment_intents.world.advance(delay)
        payment_intents.chain.mine(CONFIRMATIONS)
        track(payment_intents.services, SOURCE)
        (pending,) = follow(payment_intents, intent, number)
    assert payment_intents.world.now - started <= timedelta(minutes=1)
    payment_intents.fill(payment_intents.sent[-1])
    payment_intents.settle(3)
    assert payment_intents.load(intent).end is End.SETTLED
    check_conserved(payment_intents)


def test_a_message_asks_the_router_again_when_it_failed(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.world.advance(KEPT_FOR)
    payment_intents.world.router.trouble = RouterUnavailable("down")
    for minute in range(14):
        payment_intents.chain.mine(CONFIRMATIONS)
        track(payment_intents.services, SOURCE)
        follow(payment_intents, intent)
        payment_intents.world.router.trouble = None if minute > 7 else payment_intents.world.router.trouble
        payment_intents.world.advance(60)
    assert payment_intents.made["take"] == payment_intents.made["deposit"] == 1
    check_conserved(payment_intents)


def test_a_message_ends_a_payment_that_can_be_taken_no_more(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.balances[PAYER.lower()] = 0
    for _ in range(3):
        payment_intents.world.advance(60)
        follow(payment_intents, intent)
    assert payment_intents.load(intent).end is End.FAILED
    assert len(payment_intents.events("payment.failed")) == 1


def test_the_first_look_is_at_once_and_the_next_one_when_it_is_due(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    assert looks(payment_intents) == [(0, 0)]
    ((delay, number),) = follow(payment_intents, intent)
    due = payment_intents.load(intent).check_at
    assert due is not None and number == 1
    assert timedelta(seconds=delay - 1) < due - payment_intents.world.now <= timedelta(seconds=delay)


def test_a_chain_of_messages_ends_and_the_schedule_goes_on(payment_intents: PaymentIntents) -> None:
    intent, number = payment_intents.begun(), 0
    looks(payment_intents)
    while queued := follow(payment_intents, intent, number):
        ((_, number),) = queued
    assert number == MOST_HOPS - 1
    payment_intents.fill(payment_intents.run_until_bridged(intent))
    payment_intents.settle(3)
    assert payment_intents.load(intent).end is End.SETTLED


def test_what_is_done_or_due_later_than_the_schedule_runs_is_not_queued(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fill(payment_intents.run_until_bridged(intent))
    payment_intents.world.advance(3600)
    looks(payment_intents)
    assert all(delay < 60 for delay, _ in follow(payment_intents, intent))
    payment_intents.settle(3)
    assert payment_intents.load(intent).stage is Stage.ENDED
    assert follow(payment_intents, intent) == []
    running.follow_payment_intent(payment_intents.services, json.dumps({"paymentIntent": "none", "looks": 0}))
    assert looks(payment_intents) == []


def test_a_message_that_comes_twice_takes_no_step_twice(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    for _ in range(3):
        follow(payment_intents, intent)
    assert payment_intents.made["take"] <= 1
    payment_intents.fill(payment_intents.run_until_bridged(intent))
    payment_intents.settle(3)
    assert dict(payment_intents.made) == {"take": 1, "approve": 1, "deposit": 1}
    check_conserved(payment_intents)


def test_a_queue_that_refuses_messages_undoes_nothing(
    payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no queue")

    monkeypatch.setattr(payment_intents.services.queue, "send", refuse)
    intent = payment_intents.begun()
    assert payment_intents.load(intent).stage is Stage.TAKING and payment_intents.loaded().is_executed
