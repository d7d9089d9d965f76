"""When a gasless payment locks its request, and when one that was made has ended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.base.money import Fee
from chalicelib.gasless import flows
from chalicelib.gasless.records import Stage
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.relayer.records import Reverts
from chalicelib.relayer.reverts import payer_name
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.gasless import HAD, NETWORK, PAYER, Gasless
from tests.fakes.requests import store_request


def minutes(gasless: Gasless, number: int) -> None:
    for _ in range(number):
        gasless.world.advance(60)
        gasless.run()
        gasless.world.scan()


@pytest.mark.parametrize("withheld", [0, 3])
def test_a_request_is_locked_until_its_payment_is_recorded_though_a_node_withholds_the_event(withheld: int) -> None:
    gasless = Gasless()
    made = gasless.accept(gasless.offer())
    gasless.chain.hides_logs = withheld > 0
    minutes(gasless, 4 + withheld)
    gasless.chain.hides_logs = False
    assert gasless.state.made["paid"] == 1
    request = gasless.loaded()
    assert request.is_executed is (withheld > 0) is (request.status is not RequestStatus.PAID)
    minutes(gasless, 14 if withheld else 1)
    assert (gasless.loaded().status, gasless.loaded().is_executed) == (RequestStatus.PAID, False)
    assert gasless.load(made).stage is Stage.PAID


def test_a_request_is_locked_no_longer_than_until_the_block_of_its_payment_was_read_again() -> None:
    gasless = Gasless()
    made = gasless.accept(gasless.offer())
    gasless.chain.hides_logs = True
    minutes(gasless, 8)
    assert gasless.loaded().is_executed
    minutes(gasless, 10)
    assert not gasless.loaded().is_executed and gasless.load(made).stage is Stage.PAID


def test_no_signature_locks_a_request_for_a_payer_whose_calls_wait_for_a_day() -> None:
    gasless = Gasless()
    now, made = gasless.world.now, gasless.offer()
    delayed = Reverts(NETWORK, payer_name(PAYER), 1, now - timedelta(days=1), until=now + timedelta(seconds=1))
    gasless.services.store.write(delayed)
    with pytest.raises(Conflict, match="makes no payment for this wallet now: the last call for this payer was reverted"):
        gasless.accept(made)
    assert not gasless.loaded().is_executed
    gasless.world.advance(1)
    gasless.accept(made)
    assert gasless.loaded().is_executed


@pytest.mark.parametrize("seed", range(6))
def test_a_payment_that_fails_when_it_is_run_takes_the_batch_of_no_other_one(seed: int) -> None:
    """It is made alone, as its payer has code, which refuses it once it was accepted."""
    gasless, other = Gasless(seed), "0x" + "0d" * 20
    gasless.delegations = 1
    gasless.chain.contracts.add(other)
    gasless.state.balances[other] = HAD
    request = store_request(gasless.services, currency="USDC-base")
    owed = Owed(request, request.amount, Fee("1", FEE_ADDRESS))
    failing = gasless.accept(flows.offer(gasless.services, gasless.owner, direct(owed), other))
    made = gasless.accept(gasless.offer())
    gasless.state.balances[other] = 0
    gasless.world.advance(1)
    gasless.run()
    assert (gasless.load(failing).stage, gasless.load(made).stage) == (Stage.SIGNED, Stage.SENDING)


def test_of_payments_that_fail_together_alone_as_many_are_made_as_succeed_together() -> None:
    gasless, wallets = Gasless(), [f"0x{each:040x}" for each in range(100, 108)]
    gasless.delegations = 1
    made, run = [], gasless.chain.mempool.dry_run
    for each in wallets:
        gasless.state.balances[each] = HAD
        request = store_request(gasless.services, currency="USDC-base")
        owed = Owed(request, request.amount, Fee("1", FEE_ADDRESS))
        made.append(gasless.accept(flows.offer(gasless.services, gasless.owner, direct(owed), each)))
    gasless.chain.mempool.dry_run = lambda to, data: "reverted" if sum(each[2:] in data for each in wallets) > 3 else run(to, data)
    gasless.world.advance(1)
    gasless.run()
    assert [gasless.load(each).stage for each in made].count(Stage.SENDING) == 2


def test_a_thousand_payments_of_one_account_have_those_of_others_looked_at_before_their_deadline() -> None:
    gasless = Gasless()
    gasless.delegations = 1
    known = gasless.accept(gasless.offer())
    for number in range(1_500):
        payer = f"0x{number + 1:040x}"
        gasless.state.balances[payer] = HAD
        by = replace(known.authorization, payer=payer, nonce=f"0x{number + 1:064x}")
        request_id = store_request(gasless.services, currency="USDC-base").request_id
        changed = {"payment_id": f"{known.payment_id[:-4]}{number:04}", "account_id": "flood", "request_id": request_id}
        gasless.services.store.write(replace(known, authorization=by, version=0, **changed))
    request = store_request(gasless.services, currency="USDC-base")
    gasless.world.advance(1)
    owed = Owed(request, request.amount, Fee("1", FEE_ADDRESS))
    other = "0x" + "0d" * 20
    gasless.state.balances[other] = HAD
    made = gasless.accept(flows.offer(gasless.services, gasless.owner, direct(owed), other))
    minutes(gasless, 8)
    assert gasless.load(made).batch_id is not None


def test_a_payment_waits_while_the_account_has_no_coins_for_the_gas_and_is_made_once_it_has_them() -> None:
    gasless = Gasless()
    gasless.delegations = 1
    made, run = gasless.accept(gasless.offer()), gasless.chain.mempool.dry_run
    gasless.chain.mempool.balance, had = 10**9, gasless.chain.mempool.balance
    gasless.chain.mempool.dry_run = lambda to, data: "insufficient funds for gas * price + value"
    minutes(gasless, 2)
    waiting = gasless.load(made)
    assert (waiting.stage, waiting.reason) == (Stage.SIGNED, f"the service's account on {NETWORK} cannot pay for the gas")
    gasless.chain.mempool.balance, gasless.chain.mempool.dry_run = had, run
    minutes(gasless, 3)
    assert gasless.load(made).stage is Stage.PAID


@pytest.mark.parametrize(("left", "is_made"), [(30, True), (29, False)])
def test_a_payment_whose_deadline_may_be_over_before_its_block_is_not_sent(left: int, is_made: bool) -> None:
    """Its batch would be reverted, and each payer of it pay alone for a day."""
    gasless = Gasless()
    gasless.delegations = 1
    made = gasless.accept(gasless.offer())
    gasless.world.now = made.deadline - timedelta(seconds=left)
    gasless.run()
    assert (gasless.load(made).stage is Stage.SENDING) is is_made is bool(gasless.chain.mempool.sent)
