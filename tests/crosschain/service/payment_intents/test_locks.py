"""A signed payment keeps others from paying only as long as its tokens can be taken, and its owner can withdraw it."""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.errors import Conflict, Locked, NotFound, ServiceError
from chalicelib.base.money import Fee
from chalicelib.chains.calldata.reverts import NOT_THE_OWNERS
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.checkout.payouts import flows as paying_out
from chalicelib.checkout.payouts.flows import BatchDraft
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents import flows, locks
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import COUNTS_AFTER, MOST_UNMADE
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.crosschain.service.payment_intents.test_accepting import accepted_with_permit
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.crash import Crash, Interruption, Tripwire
from tests.fakes.lying_node import Liar, served, served_beside
from tests.fakes.payment_intents import CONTRACT, EXECUTOR, HAD, PAYER, PaymentIntents
from tests.fakes.world import WALLET
from tests.support.rehearsed import parts

VIEWER, BY_KEY = Viewer("acct", None), Owner("acct", None, None, mode=Mode.API_KEY)
LATER = COUNTS_AFTER.total_seconds()
WAYS = {
    "no tokens": lambda payment_intents: payment_intents.balances.clear(),
    "too few tokens": lambda payment_intents: payment_intents.move(PAYER, WALLET, HAD - 12_000_000),
    "no approval": lambda payment_intents: payment_intents.allowances.clear(),
    "a withdrawn nonce": lambda payment_intents: payment_intents.refuses.update(
        take="the nonce was used before, or withdrawn"
    ),
    "another signature": lambda payment_intents: payment_intents.refuses.update(take=NOT_THE_OWNERS),
}
"""What a payer does after the acceptance so that the tokens cannot be taken."""


@pytest.fixture
def payment_intents() -> PaymentIntents:
    return PaymentIntents()


def ask(payment_intents: PaymentIntents, services: Any = None) -> None:
    """Somebody else wants to pay."""
    name = payment_intents.request.request_id
    paying.pay(services or payment_intents.services, name, BY_KEY, VIEWER, PayOptions(WALLET), Part())


def is_locked(payment_intents: PaymentIntents) -> bool:
    try:
        ask(payment_intents)
    except Locked:
        return True
    return False


def withdraw(payment_intents: PaymentIntents, intent: PaymentIntent, services: Any = None) -> PaymentIntent:
    return locks.withdraw(services or payment_intents.services, BY_KEY, intent.intent_id)


@pytest.mark.parametrize("way", WAYS)
def test_whoever_asks_can_pay_once_the_tokens_cannot_be_taken_any_more(
    payment_intents: PaymentIntents, way: str
) -> None:
    intent = payment_intents.begun()
    WAYS[way](payment_intents)
    payment_intents.world.advance(LATER)
    ask(payment_intents)
    found = payment_intents.load(intent)
    assert (found.stage, found.end) == (Stage.ENDED, End.FAILED)
    assert str(found.reason).startswith("Nothing was taken: the payment could not be begun: ")
    assert len(payment_intents.events("payment.failed")) == 1
    payment_intents.refuses.clear()
    payment_intents.balances[PAYER.lower()], payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = HAD, HAD
    payment_intents.settle(10)
    assert payment_intents.made["take"] == 0, "though they could be taken again"


@pytest.mark.parametrize("has_signed_approval", [False, True])
def test_a_wallet_whose_code_behaves_in_dry_runs_alone_locks_nothing_for_long(
    payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch, has_signed_approval: bool
) -> None:
    intent = (
        accepted_with_permit(payment_intents)
        if has_signed_approval
        else payment_intents.accept(payment_intents.offer().intent)
    )
    payment_intents.chain.contracts.add(PAYER)  # also a wallet with a key gets code by a transaction
    monkeypatch.setattr(payment_intents.chain.mempool, "run_as_sent", lambda *_: StepResult(False, NOT_THE_OWNERS))
    payment_intents.settle(4)
    assert payment_intents.load(intent).end is End.FAILED and not payment_intents.loaded().is_executed
    assert payment_intents.made["take"] == 0


def test_a_wallet_with_code_is_waited_for_while_the_service_cannot_pay_for_its_gas(
    payment_intents: PaymentIntents,
) -> None:
    intent = payment_intents.begun()
    payment_intents.chain.contracts.add(PAYER)
    payment_intents.chain.mempool.balance, had = 10, payment_intents.chain.mempool.balance
    payment_intents.settle(4)
    assert payment_intents.load(intent).stage is Stage.TAKING
    payment_intents.chain.mempool.balance = had
    payment_intents.settle(4)
    assert payment_intents.made["take"] == 1


@pytest.mark.parametrize("way", WAYS)
def test_if_nobody_asks_the_worker_ends_it(payment_intents: PaymentIntents, way: str) -> None:
    intent = payment_intents.begun()
    WAYS[way](payment_intents)
    payment_intents.settle(3)
    assert payment_intents.load(intent).end is End.FAILED and not payment_intents.loaded().is_executed


def test_a_reading_counts_from_half_a_minute_after_the_acceptance(payment_intents: PaymentIntents) -> None:
    """A node that lags may not have the payer's approval yet."""
    intent = payment_intents.begun()
    payment_intents.allowances.clear()
    payment_intents.world.advance(LATER - 1)
    assert is_locked(payment_intents)
    payment_intents.run()
    assert payment_intents.load(intent).stage is Stage.TAKING
    payment_intents.world.advance(1)
    assert not is_locked(payment_intents)


def test_while_the_tokens_can_be_taken_the_request_stays_locked(payment_intents: PaymentIntents) -> None:
    payment_intents.chain.mempool.base_fee = 10**12  # gas is too dear, so that they are not taken
    intent = payment_intents.begun()
    for _ in range(10):
        payment_intents.minute()
        assert is_locked(payment_intents)
    assert payment_intents.load(intent).stage is Stage.TAKING


def test_an_approval_that_was_signed_too_counts_until_it_cannot_be_sent_any_more(
    payment_intents: PaymentIntents,
) -> None:
    intent = accepted_with_permit(payment_intents)
    payment_intents.world.advance(LATER)
    assert is_locked(payment_intents)
    payment_intents.refuses = {
        "permit": "ERC20Permit: invalid signature"
    }  # the payer has used its nonce for another one
    assert not is_locked(payment_intents)
    assert payment_intents.load(intent).end is End.FAILED


def test_a_node_that_is_silent_ends_no_lock(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.balances.clear()
    payment_intents.world.advance(LATER)
    payment_intents.chain.is_down = True
    assert is_locked(payment_intents)
    payment_intents.run()
    assert payment_intents.load(intent).stage is Stage.TAKING


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_end_a_payment_by_saying_that_its_tokens_are_gone(
    payment_intents: PaymentIntents, is_first: bool
) -> None:
    payment_intents.chain.mempool.base_fee = 10**12  # gas is too dear, so that they are not taken
    intent, honest = payment_intents.begun(), payment_intents.chain
    gone = Liar(honest, run_each=lambda sender, calls: tuple(StepResult(False, NOT_THE_OWNERS) for _ in calls))
    payment_intents.world.advance(LATER)
    services = served_beside(payment_intents.services, intent.network, gone, is_first)
    payment_intents.run(services)
    with pytest.raises(Locked):
        ask(payment_intents, services)
    assert payment_intents.load(intent).stage is Stage.TAKING
    ask(payment_intents, served(payment_intents.services, intent.network, gone))
    assert payment_intents.load(intent).end is End.FAILED, "of the only node it is the word that counts"


def test_a_batch_of_payouts_asks_too(payment_intents: PaymentIntents) -> None:
    other = payment_intents.new_request()
    payment_intents.begun()
    payment_intents.balances.clear()
    batch = BatchDraft((), (payment_intents.request.request_id, other.request_id), WALLET, Fee())
    with pytest.raises(Locked):
        paying_out.pay_batch(payment_intents.services, BY_KEY, VIEWER, batch)
    payment_intents.world.advance(LATER)
    assert paying_out.pay_batch(payment_intents.services, BY_KEY, VIEWER, batch).checkout.transactions


def test_a_lock_that_ended_meanwhile_is_no_step_of_the_request_that_found_it(payment_intents: PaymentIntents) -> None:
    """Else the idempotency key would keep what is refused after it, and a request that is resumed would differ."""
    payment_intents.begun()
    payment_intents.balances.clear()
    payment_intents.world.advance(LATER)
    steps = list[Any]()
    joined = payment_intents.services.store.with_join(lambda apply, writes: (steps.append(writes), apply(*writes))[0])
    stored = payment_intents.stored(payment_intents.request.request_id)
    unlocked = locks.unlock_request(replace(payment_intents.services, store=joined), stored)
    assert not unlocked.is_executed and steps == []


def test_another_signature_is_accepted_once_the_first_one_is_worth_nothing(payment_intents: PaymentIntents) -> None:
    other, intent = payment_intents.offer().intent, payment_intents.begun()
    payment_intents.refuses = {"take": "the nonce of the payment was used before, or withdrawn"}
    payment_intents.world.advance(LATER)
    locks.unlock_request(payment_intents.services, payment_intents.loaded())
    payment_intents.refuses = {}
    assert payment_intents.accept(other).stage is Stage.TAKING
    assert payment_intents.load(intent).end is End.FAILED


# --- withdrawing ---


def test_what_is_withdrawn_is_never_taken(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    assert withdraw(payment_intents, intent).end is End.FAILED
    assert withdraw(payment_intents, intent).end is End.FAILED, "the same again"
    assert not is_locked(payment_intents) and len(payment_intents.events("payment.failed")) == 1
    payment_intents.settle(10)
    assert payment_intents.made["take"] == 0 and payment_intents.balances[PAYER.lower()] == HAD


def test_what_belongs_to_another_account_is_not_found(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    other = replace(BY_KEY, account_id="other")
    for owner, intent_id in ((other, intent.intent_id), (BY_KEY, "01JNZYZPK7B4YBPD44TM72NDNJ")):
        with pytest.raises(NotFound, match="Payment intent data not found"):
            locks.withdraw(payment_intents.services, owner, intent_id)


@pytest.mark.parametrize(
    "act", [withdraw, lambda payment_intents, intent, services=None: ask(payment_intents, services)]
)
def test_a_worker_at_any_moment_takes_the_tokens_or_finds_them_given_up(act: Any) -> None:
    """Nothing is taken after the request could be paid otherwise, and nothing is given up that was submitted."""

    def begun() -> tuple[PaymentIntents, PaymentIntent]:
        made = PaymentIntents()
        intent = made.begun()
        made.world.advance(LATER)
        if act is not withdraw:
            made.allowances.clear()
        return made, intent

    def back(made: PaymentIntents) -> None:
        made.allowances[PAYER.lower(), CONTRACT.lower()] = HAD
        made.run()

    for position in range(1, 14):
        payment_intents, intent = begun()
        services = payment_intents.guarded(Interruption(position, lambda made=payment_intents: back(made)))
        with suppress(Locked, Conflict):
            act(payment_intents, intent, services)
        given_up = payment_intents.load(intent).end is End.FAILED
        payment_intents.settle(6)
        assert given_up == (payment_intents.made["take"] == 0), position
        assert given_up or payment_intents.load(intent).stage is Stage.BRIDGED, position


def test_what_is_withdrawn_while_a_worker_is_about_to_take_it_is_never_taken_after_that() -> None:
    outcomes = set[bool]()
    for position in range(1, 20):
        payment_intents = PaymentIntents()
        intent = payment_intents.begun()

        def withdrawn(made: PaymentIntents = payment_intents, intent: PaymentIntent = intent) -> None:
            with suppress(Conflict):
                withdraw(made, intent)

        payment_intents.run(payment_intents.guarded(Interruption(position, withdrawn)))
        given_up = payment_intents.load(intent).end is End.FAILED
        payment_intents.settle(6)
        assert given_up == (payment_intents.made["take"] == 0), position
        outcomes.add(given_up)
    assert outcomes == {True, False}


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_dies_while_it_withdraws_leaves_all_or_nothing(before: bool) -> None:
    for fatal in range(1, 7):
        payment_intents = PaymentIntents()
        intent = payment_intents.begun()
        with suppress(Crash):
            withdraw(payment_intents, intent, payment_intents.guarded(Tripwire(fatal, before)))
        is_withdrawn = payment_intents.load(intent).end is End.FAILED
        assert is_withdrawn != payment_intents.loaded().is_executed
        payment_intents.settle(6)
        assert payment_intents.made["take"] == (not is_withdrawn) and payment_intents.balance(EXECUTOR) == 0


# --- again and again ---


@pytest.mark.parametrize(("mode", "most"), [(Mode.CLIENT_ID, 1), (Mode.API_KEY, MOST_UNMADE)])
def test_payments_that_are_not_made_are_accepted_a_few_times(
    payment_intents: PaymentIntents, mode: Mode, most: int
) -> None:
    owner = replace(payment_intents.owner, mode=mode)
    for _ in range(most):
        payment_intents.balances[PAYER.lower()] = HAD
        intent = payment_intents.offer().intent
        flows.accept(payment_intents.services, owner, intent.intent_id, payment_intents.sign(intent), None)
        payment_intents.balances[PAYER.lower()] = 0
        payment_intents.settle(3)
    payment_intents.balances[PAYER.lower()] = HAD
    intent = payment_intents.offer().intent
    with pytest.raises(Conflict, match="signed .*and not made"):
        flows.accept(payment_intents.services, owner, intent.intent_id, payment_intents.sign(intent), None)
    if mode is Mode.CLIENT_ID:
        by_key = replace(payment_intents.owner, mode=Mode.API_KEY)
        flows.accept(payment_intents.services, by_key, intent.intent_id, payment_intents.sign(intent), None)
        payment_intents.run_until_bridged(intent)


def test_payments_that_are_made_are_not_counted(payment_intents: PaymentIntents) -> None:
    owner, asked = replace(payment_intents.owner, mode=Mode.CLIENT_ID), PayOptions(PAYER, SourceToken("BASE", "USDC"))
    for made in range(1, 4):
        part = Part(amount="2", fee=Fee("1", FEE_ADDRESS))
        offer = paying.pay(payment_intents.services, payment_intents.request.request_id, owner, VIEWER, asked, part)
        assert isinstance(offer, Offer)
        intent = flows.accept(
            payment_intents.services, owner, offer.intent.intent_id, payment_intents.sign(offer.intent), None
        )
        payment_intents.settle(6)
        payment_intents.fill(payment_intents.sent[-1], fee=20_000)
        payment_intents.settle(4)
        assert payment_intents.load(intent).end is End.SETTLED and payment_intents.loaded().paid == made * 2_000_000


@pytest.mark.parametrize("part", parts(5))
@pytest.mark.parametrize(("mode", "minutes"), [(Mode.CLIENT_ID, 3), (Mode.API_KEY, 3 * MOST_UNMADE)])
def test_in_no_history_is_a_request_locked_for_long_without_the_tokens(mode: Mode, minutes: int, part: int) -> None:
    """Of 10 histories of six hours, in which a payer signs, moves tokens and approvals away and back, and withdraws
    nonces, each has the request locked for some minutes while nothing can be taken, however the moments are chosen."""
    for seed in range(part, 10, 5):
        chance, payment_intents = random.Random(f"{mode}/{seed}"), PaymentIntents(seed)
        locked, end = timedelta(), payment_intents.world.now + timedelta(hours=6)
        owner = replace(payment_intents.owner, mode=mode)
        while payment_intents.world.now < end and not payment_intents.made["take"]:
            before = payment_intents.world.now
            if not payment_intents.loaded().is_executed:
                sign(payment_intents, owner)
            WAYS[chance.choice(list(WAYS))](payment_intents)
            for _ in range(chance.randint(1, 6)):
                payment_intents.world.advance(chance.choice((5, 20, 45)))
                if chance.random() < 0.3:
                    with suppress(ServiceError):
                        ask(payment_intents)
            with suppress(SweepIncomplete, WriteConflict):
                payment_intents.minute()
            if payment_intents.loaded().is_executed:
                locked += payment_intents.world.now - before
        assert locked <= timedelta(minutes=minutes), seed
        assert not is_locked(payment_intents) or payment_intents.world.now - begun_at(payment_intents) < timedelta(
            minutes=3
        )


def sign(payment_intents: PaymentIntents, owner: Owner) -> None:
    payment_intents.refuses.clear()
    payment_intents.balances[PAYER.lower()], payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = HAD, HAD
    with suppress(Conflict, WriteConflict):
        intent = payment_intents.offer().intent
        flows.accept(payment_intents.services, owner, intent.intent_id, payment_intents.sign(intent), None)


def begun_at(payment_intents: PaymentIntents) -> datetime:
    execution = payment_intents.loaded().execution
    assert execution is not None
    found = payment_intents.services.store.get(PaymentIntent, PaymentIntent.KEY.of(intent_id=execution.intent_id))
    assert found is not None and found.accepted_at is not None
    return found.accepted_at
