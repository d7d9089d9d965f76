"""When the schedule looks at a commerce payment again, and what it leaves alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.commerce.service import due_payments, rules
from tests.commerce.service.test_flows import pre_approve_open
from tests.fakes.escrows import AMOUNT, PAYER, Commerce
from tests.fakes.lying_node import Liar, served_beside

OTHER = "0x" + "0d" * 20
OTHER_PAYER = evm_address("0x" + "0e" * 20)


@pytest.fixture
def commerce() -> Commerce:
    return Commerce()


def look(commerce: Commerce, created: Any, unavailable: set[str] | None = None) -> Any:
    due_payments.look(commerce.services, created.payment.payable_id, set() if unavailable is None else unavailable)
    return commerce.load(created)


def approved(commerce: Commerce, balance: int = AMOUNT) -> Any:
    """A payment that its payer has pre-approved, with so much in the wallet; it is due."""
    created = commerce.create()
    commerce.pre_approve(created)
    commerce.balances[PAYER.lower()] = balance
    commerce.world.scan()
    return created


def test_what_cannot_be_collected_now_is_tried_once_and_again_after_a_minute(commerce: Commerce) -> None:
    created = approved(commerce, AMOUNT - 1)
    tried = look(commerce, created)
    assert (tried.pending, tried.operations) == (None, 1) and "TokenCollectionFailed" in tried.failure
    assert tried.check_at == commerce.world.now + timedelta(minutes=1)
    assert look(commerce, created) == tried, "it is not due"
    commerce.world.now += timedelta(minutes=1)
    assert look(commerce, created).operations == 2


def test_what_is_collected_is_looked_at_again_as_every_pending_operation(commerce: Commerce) -> None:
    collecting = look(commerce, approved(commerce))
    assert collecting.pending is not None and collecting.check_at == commerce.world.now + rules.MIN_DELAY


def test_a_payment_that_the_service_cannot_operate_any_more_is_tried_again_and_not_at_every_run(
    commerce: Commerce,
) -> None:
    created = approved(commerce)
    commerce.services.store.write(replace(commerce.load(created), operator=OTHER))
    waiting = look(commerce, created)
    assert (waiting.pending, waiting.operations) == (None, 0)
    assert waiting.check_at == commerce.world.now + timedelta(minutes=1)


def test_a_payment_that_is_not_due_done_unknown_or_of_a_silent_network_is_left_as_it_is(commerce: Commerce) -> None:
    created = commerce.authorized()
    commerce.settle(2)
    before = commerce.load(created)
    assert before.check_at is not None and before.check_at > commerce.world.now
    assert look(commerce, created) == before
    commerce.services.store.write(replace(before, check_at=None))
    done = commerce.load(created)
    assert look(commerce, created) == done
    commerce.services.store.write(replace(done, check_at=commerce.world.now))
    due = commerce.load(created)
    assert look(commerce, created, {"sepolia"}) == due
    due_payments.look(commerce.services, "unknown", set())
    assert look(commerce, created) != due


def test_a_network_that_does_not_answer_is_asked_once_in_a_run(commerce: Commerce) -> None:
    created, silent = approved(commerce), set[str]()
    commerce.chain.is_down = True
    waiting = look(commerce, created, silent)
    assert silent == {"sepolia"} and waiting.authorized == 0
    commerce.chain.is_down = False
    commerce.settle(3)
    assert commerce.load(created).authorized == AMOUNT


def test_the_node_is_asked_who_can_pay_only_if_several_wallets_have_pre_approved(commerce: Commerce) -> None:
    asked = list[Any]()
    able = commerce.chain.read_able_payers
    commerce.chain.read_able_payers = lambda *args: asked.append(args) or able(*args)
    created = commerce.create(buyer_address=None)
    for wallets, questions in (((PAYER,), 0), ((PAYER, OTHER), 1)):
        payment = commerce.load(created)
        commerce.services.store.write(replace(payment, pre_approved_by=wallets, check_at=commerce.world.now))
        look(commerce, created)
        assert len(asked) == questions


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("named", [(OTHER,), ()])
def test_no_node_alone_says_which_of_several_wallets_can_pay(named: tuple[str, ...], is_first: bool) -> None:
    """By one that names a wallet without tokens each time nobody else's would ever be taken."""
    commerce = Commerce()
    created = commerce.create(buyer_address=None)
    pre_approve_open(commerce, created, PAYER)
    commerce.world.scan()
    payment = commerce.load(created)
    commerce.services.store.write(replace(payment, pre_approved_by=(PAYER, OTHER), check_at=commerce.world.now))
    liar = Liar(commerce.chain, read_able_payers=lambda *args: named)
    commerce.world.services = served_beside(commerce.services, "sepolia", liar, is_first)
    commerce.settle(6)
    assert commerce.load(created).authorized == AMOUNT


def test_payments_of_another_account_that_cannot_be_collected_take_no_turn_of_this_one(commerce: Commerce) -> None:
    """The node takes a second for each call that it runs, so that a run of 40 seconds has time for 40 payments."""
    flood = [commerce.create(buyer_address=OTHER_PAYER) for _ in range(600)]
    for each in flood:
        commerce.pre_approve(each, OTHER_PAYER)
        stored = commerce.load(each)
        commerce.services.store.write(
            replace(stored, account_id="flood", pre_approved_by=(OTHER_PAYER,), check_at=commerce.world.now)
        )
    commerce.world.advance(1)
    created = commerce.create()
    commerce.pre_approve(created)
    own = replace(commerce.load(created), pre_approved_by=(PAYER,), check_at=commerce.world.now)
    commerce.services.store.write(own)

    def run_slowly(to: str, data: str) -> str | None:
        commerce.world.advance(1)
        return commerce.refusal(to, data)

    commerce.chain.mempool.dry_run = run_slowly
    due_payments.run_due(commerce.services)
    assert commerce.load(created).pending is not None
    assert sum(commerce.load(each).operations for each in flood) <= 40
