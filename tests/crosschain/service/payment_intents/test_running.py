"""Signed payments are made: the tokens are taken once, and go into the bridge or back to the payer."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.payments.requests.executions import ExecutionStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.storage.store import Add
from chalicelib.relayer import store as relayer
from chalicelib.relayer.holdings.records import HELD, HeldTokens, HeldTotal
from chalicelib.relayer.records import CallStatus
from tests.crosschain.service.router import diamond
from tests.fakes.permits import EXECUTOR, HAD, PAYER, POOL, Permits, check_conserved
from tests.fakes.world import PlainSigningKeys


@pytest.fixture
def permits() -> Permits:
    return Permits()


def told(permits: Permits) -> str:
    """The subStatus of the one `payment.failed`."""
    (event,) = permits.events("payment.failed")
    return str(json.loads(event.body)["subStatus"])


def test_a_signed_payment_is_taken_bridged_and_settled(permits: Permits, monkeypatch: pytest.MonkeyPatch) -> None:
    intent, lines = permits.begun(), list[str]()
    monkeypatch.setattr(permits.services.log, "error", lambda message, **_: lines.append(message))
    sent = permits.run_until_bridged(intent)
    assert permits.balance(PAYER) == HAD - intent.taking == HAD - sent.deposit.input_amount
    assert sent.deposit.depositor == PAYER
    permits.settle(2)
    assert permits.load(intent).stage is Stage.BRIDGED and permits.loaded().is_executed
    permits.fill(sent)
    permits.settle(3)
    found, request = permits.load(intent), permits.loaded()
    assert (found.stage, found.end) == (Stage.ENDED, End.SETTLED)
    assert request.status is RequestStatus.PAID
    assert request.execution is not None and request.execution.status is ExecutionStatus.SETTLED
    assert dict(permits.made) == {"take": 1, "approve": 1, "deposit": 1}
    assert permits.events("payment.failed") == [] and len(permits.events("payment.confirmed")) == 1
    assert lines == []
    check_conserved(permits)


def test_a_payment_that_fails_on_the_other_chain_leaves_the_payer_with_the_tokens_there(permits: Permits) -> None:
    intent = permits.begun()
    permits.fill(permits.run_until_bridged(intent), fails=True)
    permits.settle(4)
    found = permits.load(intent)
    assert found.end is End.PARTIAL and not permits.loaded().is_executed
    assert found.crossing is not None and found.crossing.crossing is not None
    assert found.crossing.crossing.held is not None and found.crossing.crossing.held.wallet == PAYER
    assert len(permits.events("payment.failed")) == 1
    check_conserved(permits)


def test_what_nobody_brings_in_time_is_returned_to_the_payer_by_the_bridge_itself(permits: Permits) -> None:
    intent = permits.begun()
    sent = permits.run_until_bridged(intent)
    permits.world.advance(3 * 3600)
    permits.settle(4)
    assert permits.load(intent).stage is Stage.BRIDGED and permits.loaded().is_executed
    permits.bridge.refund(sent)
    permits.settle(40)
    assert permits.load(intent).end is End.REFUNDED and not permits.loaded().is_executed
    assert len(permits.events("payment.failed")) == 1
    check_conserved(permits)


def test_without_a_route_what_was_taken_goes_back_once(permits: Permits) -> None:
    intent = permits.begun()
    permits.minute()
    permits.world.router.trouble = RouterUnavailable("down")
    permits.world.advance(120)  # the kept route expires
    permits.settle(4)
    assert permits.load(intent).stage is Stage.TAKEN and permits.balance(EXECUTOR) == intent.taking
    permits.settle(30)
    found = permits.load(intent)
    assert (found.end, permits.balance(PAYER)) == (End.REFUNDED, HAD)
    assert found.returned_by is not None and permits.made["transfer"] == 1 and told(permits) == "bounced"
    assert not permits.loaded().is_executed and len(permits.events("payment.failed")) == 1
    check_conserved(permits)


def test_a_dearer_route_is_not_taken_from_others_and_a_cheaper_one_gets_all_that_was_taken(permits: Permits) -> None:
    intent = permits.begun()
    permits.minute()
    permits.world.advance(120)
    answered = permits.world.router.change

    def dearer(answer: dict) -> dict:  # type: ignore[type-arg]
        from tests.fakes.router import answer_of, deposit_of

        deposit = deposit_of(permits.world.router.seen[-1], int(permits.world.now.timestamp()))
        changed = type(deposit)(**{**deposit.__dict__, "input_amount": deposit.input_amount + 1})
        return answer_of(changed, permits.world.router.seen[-1])

    permits.world.router.change = dearer
    permits.settle(4)
    assert permits.made["deposit"] == 0 and "more than was signed" in str(permits.load(intent).reason)
    permits.world.router.change = answered
    permits.world.advance(120)
    sent = permits.run_until_bridged(intent)
    assert sent.deposit.input_amount == intent.taking
    check_conserved(permits)


@pytest.mark.parametrize("fees", [(), ((diamond.TREASURY, 30_000),)])
def test_what_the_router_leads_through_its_own_contract_is_deposited_in_the_bridge_itself(
    permits: Permits, fees: tuple[tuple[str, int], ...]
) -> None:
    def through_it(answer: dict[str, Any]) -> dict[str, Any]:
        wanted = permits.world.router.seen[-1]
        return diamond.answer(diamond.true_call(wanted, int(permits.world.now.timestamp()), fees), wanted)

    permits.world.router.change = through_it
    intent = permits.begun()
    sent = permits.run_until_bridged(intent)
    assert sent.deposit.input_amount == intent.taking == 12_655_100 + sum(amount for _, amount in fees)
    assert (sent.deposit.depositor, sent.deposit.recipient) == (PAYER, diamond.receiver(42161))
    permits.fill(sent)
    permits.settle(3)
    assert permits.load(intent).end is End.SETTLED
    check_conserved(permits)


def test_a_deposit_that_reverts_is_made_anew(permits: Permits) -> None:
    intent = permits.begun()
    permits.fails.add("deposit")
    permits.settle(5)
    assert permits.load(intent).spends > 1 and permits.made["deposit"] == 0
    permits.fails.clear()
    permits.run_until_bridged(intent)
    check_conserved(permits)


def test_deposits_that_keep_reverting_are_given_up_and_the_tokens_returned(permits: Permits) -> None:
    intent = permits.begun()
    permits.fails.add("deposit")
    permits.settle(40)
    assert permits.load(intent).end is End.REFUNDED and permits.balance(PAYER) == HAD
    check_conserved(permits)


def test_a_return_that_reverts_is_made_anew_until_it_succeeds(permits: Permits) -> None:
    intent = permits.begun()
    permits.fails |= {"deposit", "transfer"}
    permits.settle(60)
    assert permits.load(intent).stage is Stage.TAKEN and permits.loaded().is_executed
    permits.fails.clear()
    permits.settle(20)
    assert permits.load(intent).end is End.REFUNDED and permits.balance(PAYER) == HAD
    check_conserved(permits)


def test_a_request_that_was_paid_otherwise_meanwhile_gets_no_second_payment(permits: Permits) -> None:
    intent = permits.begun()
    permits.bridge.destination.pay(permits.loaded())
    permits.bridge.tick()
    permits.settle(10)
    assert permits.loaded().status is RequestStatus.PAID and permits.made["take"] == 0
    permits.world.advance(3600 + 700)
    permits.settle(2)
    found = permits.load(intent)
    assert (found.end, permits.balance(PAYER)) == (End.FAILED, HAD) and not permits.loaded().is_executed
    assert permits.events("payment.failed") == []


def test_a_request_that_was_paid_after_the_tokens_were_taken_returns_them(permits: Permits) -> None:
    intent = permits.begun()
    permits.minute()
    assert permits.made["take"] == 1
    permits.bridge.destination.pay(permits.loaded())
    permits.bridge.tick()
    permits.settle(5)
    assert permits.load(intent).end is End.REFUNDED and permits.balance(PAYER) == HAD
    assert permits.events("payment.failed") == []
    check_conserved(permits)


def test_a_payer_without_the_tokens_is_not_waited_for_and_nothing_is_taken(permits: Permits) -> None:
    intent = permits.begun()
    permits.balances[PAYER.lower()] = 0
    permits.settle(3)
    found = permits.load(intent)
    assert found.end is End.FAILED and "Nothing was taken" in str(found.reason) and told(permits) == "failed"
    assert len(permits.events("payment.failed")) == 1 and not permits.loaded().is_executed


def test_a_take_that_reverts_has_taken_nothing(permits: Permits) -> None:
    intent = permits.begun()
    permits.fails.add("take")
    permits.settle(4)
    assert permits.load(intent).end is End.FAILED and permits.balance(PAYER) == HAD


def test_while_gas_is_too_dear_nothing_is_taken_and_what_was_taken_waits(permits: Permits) -> None:
    usual, dear = permits.chain.mempool.base_fee, 10**12
    permits.chain.mempool.base_fee = dear
    intent = permits.begun()
    permits.settle(5)
    found = permits.load(intent)
    assert found.stage is Stage.TAKING and permits.made["take"] == 0 and found.reason
    permits.chain.mempool.base_fee = usual
    permits.settle(2)
    assert permits.made["take"] == 1
    permits.chain.mempool.base_fee = dear
    permits.settle(20)
    assert permits.load(intent).stage is Stage.TAKEN and permits.made["transfer"] == 0
    permits.chain.mempool.base_fee = usual
    permits.settle(12)
    assert permits.load(intent).end is End.REFUNDED
    check_conserved(permits)


def test_without_coins_for_gas_nothing_is_taken(permits: Permits) -> None:
    permits.chain.mempool.balance = 0
    intent = permits.begun()
    permits.world.advance(3600 + 700)
    permits.settle(2)
    assert permits.load(intent).end is End.FAILED and permits.made["take"] == 0


def test_a_token_that_keeps_an_allowance_gets_it_withdrawn_first(permits: Permits) -> None:
    permits.keeps_allowance = True
    permits.allowances[EXECUTOR.lower(), POOL.lower()] = 1
    intent = permits.begun()
    permits.run_until_bridged(intent)
    assert permits.made["approve"] == 2
    check_conserved(permits)


def test_a_node_that_is_silent_delays_and_decides_nothing(permits: Permits) -> None:
    intent = permits.begun()
    permits.chain.is_down = True
    permits.run()
    permits.world.advance(600)
    permits.run()
    assert permits.load(intent).stage is Stage.TAKING
    permits.chain.is_down = False
    permits.run_until_bridged(intent)
    check_conserved(permits)


class OtherKeys(PlainSigningKeys):
    private_key = bytes.fromhex("22" * 32)


def test_an_account_that_was_replaced_spends_nothing(permits: Permits) -> None:
    intent = permits.begun()
    permits.minute()
    before = permits.services
    permits.run()
    permits.world.services = replace(before, signing_keys=OtherKeys())
    permits.settle(30)
    found = permits.load(intent)
    assert found.stage is Stage.TAKEN and "is not" in str(found.reason) and permits.balance(EXECUTOR) == intent.taking


def test_two_payments_at_once_take_and_spend_what_is_theirs(permits: Permits) -> None:
    other = permits.new_request()
    first, second = permits.begun(), permits.accept(permits.offer(other).intent)
    permits.settle(14)
    assert permits.made["take"] == 2 == permits.made["deposit"] + permits.made["transfer"]
    assert permits.balance(EXECUTOR) == 0
    assert permits.balance(PAYER) + permits.balance(POOL) == HAD
    assert {permits.load(each).stage for each in (first, second)} == {Stage.BRIDGED}


@pytest.mark.parametrize("count", [3, 6, 12])
def test_many_payments_at_once_do_not_take_the_approvals_from_each_other(permits: Permits, count: int) -> None:
    begun = [permits.accept(permits.offer(permits.new_request()).intent) for _ in range(count)]
    permits.settle(8)
    assert {permits.load(each).stage for each in begun} == {Stage.BRIDGED}
    assert permits.made["approve"] <= count and permits.balance(EXECUTOR) == 0


def test_a_payment_that_hangs_is_told_to_the_operator(permits: Permits, monkeypatch: pytest.MonkeyPatch) -> None:
    intent, lines = permits.begun(), list[str]()
    permits.settle(2)
    monkeypatch.setattr(permits.services.log, "error", lambda message, **_: lines.append(message))
    permits.refuses = {"transfer": "the account is on a list", "deposit": "paused"}
    permits.world.advance(timedelta(hours=1).total_seconds())
    permits.settle(2)
    assert lines == []
    permits.world.advance(timedelta(hours=2).total_seconds())
    permits.settle(2)
    assert "payment intent overdue" in lines
    assert permits.load(intent).stage is Stage.TAKEN and permits.loaded().is_executed


def test_nothing_is_lost_by_a_network_without_an_answer(permits: Permits) -> None:
    with pytest.raises(ChainUnavailable):
        permits.chain.is_down = True
        permits.offer()


# --- forks that are deeper than the confirmations ---


def say(permits: Permits, intent: PaymentIntent, step: str, **changes: Any) -> None:
    """The relayer says something else of a call than before, as it does after such a fork."""
    call = relayer.call(permits.services.store, f"permit/{intent.intent_id}/{step}")
    assert call is not None
    permits.services.store.write(replace(call, **changes))


@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REVERTED])
def test_after_a_fork_that_gave_the_tokens_back_those_of_others_are_not_spent(
    permits: Permits, status: CallStatus
) -> None:
    intent = permits.begun()
    permits.minute()
    permits.world.router.trouble = RouterUnavailable("down")
    permits.world.advance(120)  # the kept route expires
    permits.settle(1)
    assert permits.load(intent).stage is Stage.TAKEN
    permits.world.router.trouble = None
    say(permits, intent, "take", status=CallStatus.UNKNOWN)
    permits.settle(30)  # by now they would go back, too
    assert permits.made["deposit"] == permits.made["transfer"] == 0 and permits.loaded().is_executed
    say(permits, intent, "take", status=status)
    permits.settle(15)
    is_taken = status is CallStatus.SUCCEEDED
    assert permits.load(intent).end is (End.REFUNDED if is_taken else End.FAILED)
    assert permits.made["transfer"] == is_taken and not permits.loaded().is_executed


def test_after_a_fork_the_deposit_is_followed_by_its_new_hash(permits: Permits) -> None:
    intent = permits.begun()
    sent = permits.run_until_bridged(intent)
    permits.settle(2)
    assert permits.load(intent).stage is Stage.BRIDGED
    again = "0x" + "5e" * 32
    permits.chain.transactions[again] = permits.chain.transactions.pop(sent.tx_hash)
    say(permits, intent, "spend/1", tx_hash=again)
    permits.settle(40)
    crossing = permits.load(intent).crossing
    assert crossing is not None and crossing.transaction_hash == again
    permits.fill(sent)
    permits.settle(10)
    assert permits.load(intent).end is End.SETTLED
    check_conserved(permits)


def test_a_deposit_that_the_node_does_not_have_is_told_to_the_operator(
    permits: Permits, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent, lines = permits.begun(), list[str]()
    monkeypatch.setattr(permits.services.log, "error", lambda message, **_: lines.append(message))
    sent = permits.run_until_bridged(intent)
    permits.chain.transactions[sent.tx_hash] = replace(permits.chain.transactions[sent.tx_hash], success=False, deposits=())
    permits.settle(5)
    assert permits.load(intent).stage is Stage.BRIDGED and permits.loaded().is_executed
    assert "payment intent overdue" in lines


def test_after_a_fork_in_which_the_deposit_reverted_it_is_made_anew(permits: Permits) -> None:
    intent = permits.begun()
    sent = permits.run_until_bridged(intent)
    permits.settle(2)
    del permits.chain.transactions[sent.tx_hash]
    permits.move(POOL, EXECUTOR, sent.deposit.input_amount)
    say(permits, intent, "spend/1", status=CallStatus.REVERTED)
    (entry,) = permits.services.store.all(HeldTokens)
    total = HeldTotal(entry.network, entry.account, entry.token)
    permits.services.store.write(replace(entry, spent=BaseUnits(0)), Add(total, {HELD: entry.spent}))
    permits.settle(40)
    assert permits.load(intent).spends == 2 and permits.balance(EXECUTOR) == 0
    assert permits.made["deposit"] + permits.made["transfer"] == 2
