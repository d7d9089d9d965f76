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
from chalicelib.checkout.payouts import flows as payouts
from chalicelib.checkout.payouts.flows import BatchDraft, Terms
from chalicelib.checkout.requests import flows as requests
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents import flows, locking
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
from tests.fakes.permits import CONTRACT, EXECUTOR, HAD, PAYER, Permits
from tests.fakes.world import WALLET

VIEWER, BY_KEY = Viewer("acct", None), Owner("acct", None, None, mode=Mode.API_KEY)
LATER = COUNTS_AFTER.total_seconds()
WAYS = {
    "no tokens": lambda permits: permits.balances.clear(),
    "too few tokens": lambda permits: permits.move(PAYER, WALLET, HAD - 12_000_000),
    "no approval": lambda permits: permits.allowances.clear(),
    "a withdrawn nonce": lambda permits: permits.refuses.update(take="the nonce was used before, or withdrawn"),
    "another signature": lambda permits: permits.refuses.update(take=NOT_THE_OWNERS),
}
"""What a payer does after the acceptance so that the tokens cannot be taken."""


@pytest.fixture
def permits() -> Permits:
    return Permits()


def ask(permits: Permits, services: Any = None) -> None:
    """Somebody else wants to pay."""
    name = permits.request.request_id
    requests.pay(services or permits.services, name, BY_KEY, VIEWER, PayOptions(WALLET), Part())


def is_locked(permits: Permits) -> bool:
    try:
        ask(permits)
    except Locked:
        return True
    return False


def withdraw(permits: Permits, intent: PaymentIntent, services: Any = None) -> PaymentIntent:
    return locking.withdraw(services or permits.services, "acct", None, intent.intent_id)


@pytest.mark.parametrize("way", WAYS)
def test_whoever_asks_can_pay_once_the_tokens_cannot_be_taken_any_more(permits: Permits, way: str) -> None:
    intent = permits.begun()
    WAYS[way](permits)
    permits.world.advance(LATER)
    ask(permits)
    found = permits.load(intent)
    assert (found.stage, found.end) == (Stage.ENDED, End.FAILED)
    assert str(found.reason).startswith("Nothing was taken: the payment could not be begun: ")
    assert len(permits.events("payment.failed")) == 1
    permits.refuses.clear()
    permits.balances[PAYER.lower()], permits.allowances[PAYER.lower(), CONTRACT.lower()] = HAD, HAD
    permits.settle(10)
    assert permits.made["take"] == 0, "though they could be taken again"


@pytest.mark.parametrize("has_signed_approval", [False, True])
def test_a_wallet_whose_code_behaves_in_dry_runs_alone_locks_nothing_for_long(
    permits: Permits, monkeypatch: pytest.MonkeyPatch, has_signed_approval: bool
) -> None:
    intent = accepted_with_permit(permits) if has_signed_approval else permits.accept(permits.offer().intent)
    permits.chain.contracts.add(PAYER)  # also a wallet with a key gets code by a transaction
    monkeypatch.setattr(permits.chain.mempool, "run_as_sent", lambda *_: StepResult(False, NOT_THE_OWNERS))
    permits.settle(4)
    assert permits.load(intent).end is End.FAILED and not permits.loaded().is_executed
    assert permits.made["take"] == 0


def test_a_wallet_with_code_is_waited_for_while_the_service_cannot_pay_for_its_gas(permits: Permits) -> None:
    intent = permits.begun()
    permits.chain.contracts.add(PAYER)
    permits.chain.mempool.balance, had = 10, permits.chain.mempool.balance
    permits.settle(4)
    assert permits.load(intent).stage is Stage.TAKING
    permits.chain.mempool.balance = had
    permits.settle(4)
    assert permits.made["take"] == 1


@pytest.mark.parametrize("way", WAYS)
def test_if_nobody_asks_the_worker_ends_it(permits: Permits, way: str) -> None:
    intent = permits.begun()
    WAYS[way](permits)
    permits.settle(3)
    assert permits.load(intent).end is End.FAILED and not permits.loaded().is_executed


def test_a_reading_counts_from_half_a_minute_after_the_acceptance(permits: Permits) -> None:
    """A node that lags may not have the payer's approval yet."""
    intent = permits.begun()
    permits.allowances.clear()
    permits.world.advance(LATER - 1)
    assert is_locked(permits)
    permits.run()
    assert permits.load(intent).stage is Stage.TAKING
    permits.world.advance(1)
    assert not is_locked(permits)


def test_while_the_tokens_can_be_taken_the_request_stays_locked(permits: Permits) -> None:
    permits.chain.mempool.base_fee = 10**12  # gas is too dear, so that they are not taken
    intent = permits.begun()
    for _ in range(10):
        permits.minute()
        assert is_locked(permits)
    assert permits.load(intent).stage is Stage.TAKING


def test_an_approval_that_was_signed_too_counts_until_it_cannot_be_sent_any_more(permits: Permits) -> None:
    intent = accepted_with_permit(permits)
    permits.world.advance(LATER)
    assert is_locked(permits)
    permits.refuses = {"permit": "ERC20Permit: invalid signature"}  # the payer has used its nonce for another one
    assert not is_locked(permits)
    assert permits.load(intent).end is End.FAILED


def test_a_node_that_is_silent_ends_no_lock(permits: Permits) -> None:
    intent = permits.begun()
    permits.balances.clear()
    permits.world.advance(LATER)
    permits.chain.is_down = True
    assert is_locked(permits)
    permits.run()
    assert permits.load(intent).stage is Stage.TAKING


def test_a_batch_of_payouts_asks_too(permits: Permits) -> None:
    other = permits.new_request()
    permits.begun()
    permits.balances.clear()
    batch = BatchDraft((), (permits.request.request_id, other.request_id), Terms(WALLET, Fee()))
    with pytest.raises(Locked):
        payouts.pay_batch(permits.services, BY_KEY, VIEWER, batch)
    permits.world.advance(LATER)
    assert payouts.pay_batch(permits.services, BY_KEY, VIEWER, batch).checkout.transactions


def test_another_signature_is_accepted_once_the_first_one_is_worth_nothing(permits: Permits) -> None:
    other, intent = permits.offer().intent, permits.begun()
    permits.refuses = {"take": "the nonce of the payment was used before, or withdrawn"}
    permits.world.advance(LATER)
    locking.unlocked(permits.services, permits.loaded())
    permits.refuses = {}
    assert permits.accept(other).stage is Stage.TAKING
    assert permits.load(intent).end is End.FAILED


# --- withdrawing ---


def test_what_is_withdrawn_is_never_taken(permits: Permits) -> None:
    intent = permits.begun()
    assert withdraw(permits, intent).end is End.FAILED
    assert withdraw(permits, intent).end is End.FAILED, "the same again"
    assert not is_locked(permits) and len(permits.events("payment.failed")) == 1
    permits.settle(10)
    assert permits.made["take"] == 0 and permits.balances[PAYER.lower()] == HAD


def test_what_belongs_to_another_account_is_not_found(permits: Permits) -> None:
    intent = permits.begun()
    for name, intent_id in (("other", intent.intent_id), ("acct", "01JNZYZPK7B4YBPD44TM72NDNJ")):
        with pytest.raises(NotFound, match="Payment intent data not found"):
            locking.withdraw(permits.services, name, None, intent_id)


@pytest.mark.parametrize("act", [withdraw, lambda permits, intent, services=None: ask(permits, services)])
def test_a_worker_at_any_moment_takes_the_tokens_or_finds_them_given_up(act: Any) -> None:
    """Nothing is taken after the request could be paid otherwise, and nothing is given up that was submitted."""

    def begun() -> tuple[Permits, PaymentIntent]:
        made = Permits()
        intent = made.begun()
        made.world.advance(LATER)
        if act is not withdraw:
            made.allowances.clear()
        return made, intent

    def back(made: Permits) -> None:
        made.allowances[PAYER.lower(), CONTRACT.lower()] = HAD
        made.run()

    for position in range(1, 14):
        permits, intent = begun()
        services = permits.guarded(Interruption(position, lambda made=permits: back(made)))
        with suppress(Locked, Conflict):
            act(permits, intent, services)
        given_up = permits.load(intent).end is End.FAILED
        permits.settle(6)
        assert given_up == (permits.made["take"] == 0), position
        assert given_up or permits.load(intent).stage is Stage.BRIDGED, position


def test_what_is_withdrawn_while_a_worker_is_about_to_take_it_is_never_taken_after_that() -> None:
    outcomes = set[bool]()
    for position in range(1, 20):
        permits = Permits()
        intent = permits.begun()

        def withdrawn(made: Permits = permits, intent: PaymentIntent = intent) -> None:
            with suppress(Conflict):
                withdraw(made, intent)

        permits.run(permits.guarded(Interruption(position, withdrawn)))
        given_up = permits.load(intent).end is End.FAILED
        permits.settle(6)
        assert given_up == (permits.made["take"] == 0), position
        outcomes.add(given_up)
    assert outcomes == {True, False}


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_dies_while_it_withdraws_leaves_all_or_nothing(before: bool) -> None:
    for fatal in range(1, 7):
        permits = Permits()
        intent = permits.begun()
        with suppress(Crash):
            withdraw(permits, intent, permits.guarded(Tripwire(fatal, before)))
        is_withdrawn = permits.load(intent).end is End.FAILED
        assert is_withdrawn != permits.loaded().is_executed
        permits.settle(6)
        assert permits.made["take"] == (not is_withdrawn) and permits.balance(EXECUTOR) == 0


# --- again and again ---


@pytest.mark.parametrize(("mode", "most"), [(Mode.CLIENT_ID, 1), (Mode.API_KEY, MOST_UNMADE)])
def test_payments_that_are_not_made_are_accepted_a_few_times(permits: Permits, mode: Mode, most: int) -> None:
    owner = replace(permits.owner, mode=mode)
    for _ in range(most):
        permits.balances[PAYER.lower()] = HAD
        intent = permits.offer().intent
        flows.accept(permits.services, owner, intent.intent_id, permits.sign(intent), None)
        permits.balances[PAYER.lower()] = 0
        permits.settle(3)
    permits.balances[PAYER.lower()] = HAD
    intent = permits.offer().intent
    with pytest.raises(Conflict, match="signed .*and not made"):
        flows.accept(permits.services, owner, intent.intent_id, permits.sign(intent), None)
    if mode is Mode.CLIENT_ID:
        by_key = replace(permits.owner, mode=Mode.API_KEY)
        flows.accept(permits.services, by_key, intent.intent_id, permits.sign(intent), None)
        permits.run_until_bridged(intent)


def test_payments_that_are_made_are_not_counted(permits: Permits) -> None:
    owner, asked = replace(permits.owner, mode=Mode.CLIENT_ID), PayOptions(PAYER, SourceToken("BASE", "USDC"))
    for made in range(1, 4):
        part = Part(amount="2", fee=Fee("1", FEE_ADDRESS))
        offer = requests.pay(permits.services, permits.request.request_id, owner, VIEWER, asked, part)
        assert isinstance(offer, Offer)
        intent = flows.accept(permits.services, owner, offer.intent.intent_id, permits.sign(offer.intent), None)
        permits.settle(6)
        permits.fill(permits.sent[-1], fee=20_000)
        permits.settle(4)
        assert permits.load(intent).end is End.SETTLED and permits.loaded().paid == made * 2_000_000


@pytest.mark.parametrize(("mode", "minutes"), [(Mode.CLIENT_ID, 3), (Mode.API_KEY, 3 * MOST_UNMADE)])
def test_in_no_history_is_a_request_locked_for_long_without_the_tokens(mode: Mode, minutes: int) -> None:
    """Of 10 histories of six hours, in which a payer signs, moves tokens and approvals away and back, and withdraws
    nonces, each has the request locked for some minutes while nothing can be taken, however the moments are chosen."""
    for seed in range(10):
        chance, permits = random.Random(f"{mode}/{seed}"), Permits(seed)
        locked, end = timedelta(), permits.world.now + timedelta(hours=6)
        owner = replace(permits.owner, mode=mode)
        while permits.world.now < end and not permits.made["take"]:
            before = permits.world.now
            if not permits.loaded().is_executed:
                sign(permits, owner)
            WAYS[chance.choice(list(WAYS))](permits)
            for _ in range(chance.randint(1, 6)):
                permits.world.advance(chance.choice((5, 20, 45)))
                if chance.random() < 0.3:
                    with suppress(ServiceError):
                        ask(permits)
            with suppress(SweepIncomplete, WriteConflict):
                permits.minute()
            if permits.loaded().is_executed:
                locked += permits.world.now - before
        assert locked <= timedelta(minutes=minutes), seed
        assert not is_locked(permits) or permits.world.now - begun_at(permits) < timedelta(minutes=3)


def sign(permits: Permits, owner: Owner) -> None:
    permits.refuses.clear()
    permits.balances[PAYER.lower()], permits.allowances[PAYER.lower(), CONTRACT.lower()] = HAD, HAD
    with suppress(Conflict, WriteConflict):
        intent = permits.offer().intent
        flows.accept(permits.services, owner, intent.intent_id, permits.sign(intent), None)


def begun_at(permits: Permits) -> datetime:
    execution = permits.loaded().execution
    assert execution is not None
    found = permits.services.store.get(PaymentIntent, PaymentIntent.KEY.of(intent_id=execution.intent_id))
    assert found is not None and found.accepted_at is not None
    return found.accepted_at
