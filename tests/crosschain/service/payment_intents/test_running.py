"""Signed payments are made: the tokens are taken once, and go into the bridge or back to the payer."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.crosschain.service.payment_intents import running
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import deadline_of
from chalicelib.payments.requests.executions import ExecutionStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.scanning.records import UnrecordedTransfers
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.storage.store import Add
from chalicelib.platform.storage.writes import Delete
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.holdings.records import TOTAL, Holding, HoldingsTotal
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.tracking import track
from tests.crosschain.service.router import diamond
from tests.fakes.bridge import SOURCE, SOURCE_USDC
from tests.fakes.lying_node import Liar, served_beside
from tests.fakes.payment_intents import EXECUTOR, HAD, PAYER, POOL, PaymentIntents, check_conserved
from tests.fakes.world import PlainSigningKeys


@pytest.fixture
def payment_intents() -> PaymentIntents:
    return PaymentIntents()


def status_sent(payment_intents: PaymentIntents) -> str:
    """The subStatus of the one `payment.failed`."""
    (event,) = payment_intents.events("payment.failed")
    return str(json.loads(event.body)["subStatus"])


def test_a_signed_payment_is_taken_bridged_and_settled(payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch) -> None:
    intent, lines = payment_intents.begun(), list[str]()
    monkeypatch.setattr(payment_intents.services.log, "error", lambda message, **_: lines.append(message))
    sent = payment_intents.run_until_bridged(intent)
    assert payment_intents.balance(PAYER) == HAD - intent.taking == HAD - sent.deposit.input_amount
    assert sent.deposit.depositor == PAYER
    payment_intents.settle(2)
    assert payment_intents.load(intent).stage is Stage.BRIDGED and payment_intents.loaded().is_executed
    payment_intents.fill(sent)
    payment_intents.settle(3)
    found, request = payment_intents.load(intent), payment_intents.loaded()
    assert (found.stage, found.end) == (Stage.ENDED, End.SETTLED)
    assert request.status is RequestStatus.PAID
    assert request.execution is not None and request.execution.status is ExecutionStatus.SETTLED
    assert dict(payment_intents.made) == {"take": 1, "approve": 1, "deposit": 1}
    assert payment_intents.events("payment.failed") == [] and len(payment_intents.events("payment.confirmed")) == 1
    assert lines == []
    check_conserved(payment_intents)


def test_a_payment_ends_only_after_everything_of_its_request_that_was_read_is_recorded(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fill(payment_intents.run_until_bridged(intent))
    store, payable_id = payment_intents.services.store, payment_intents.request.payable_id
    for sequence in range(90, 96):
        mined(payment_intents)
        work = UnrecordedTransfers(payable_id, "arbitrum-one", sequence, 9, 0, "", payment_intents.world.now, ())
        work = store.write(work)
        waiting = step(payment_intents, intent)
        assert (waiting.stage, waiting.end) == (Stage.BRIDGED, None)
        store.write(Delete(work))
    payment_intents.settle(3)
    assert payment_intents.load(intent).end is End.SETTLED


def test_a_payment_that_fails_on_the_other_chain_leaves_the_payer_with_the_tokens_there(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fill(payment_intents.run_until_bridged(intent), fails=True)
    payment_intents.settle(4)
    found = payment_intents.load(intent)
    assert found.end is End.PARTIAL and not payment_intents.loaded().is_executed
    assert found.announced is not None and found.announced.bridge_transfer is not None
    assert found.announced.bridge_transfer.returned is not None and found.announced.bridge_transfer.returned.wallet == PAYER
    assert len(payment_intents.events("payment.failed")) == 1
    check_conserved(payment_intents)


def test_what_nobody_brings_in_time_is_returned_to_the_payer_by_the_bridge_itself(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    sent = payment_intents.run_until_bridged(intent)
    payment_intents.world.advance(3 * 3600)
    payment_intents.settle(4)
    assert payment_intents.load(intent).stage is Stage.BRIDGED and payment_intents.loaded().is_executed
    payment_intents.bridge.refund(sent)
    payment_intents.settle(40)
    assert payment_intents.load(intent).end is End.REFUNDED and not payment_intents.loaded().is_executed
    assert len(payment_intents.events("payment.failed")) == 1
    check_conserved(payment_intents)


def test_without_a_route_what_was_taken_goes_back_once(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.minute()
    payment_intents.world.router.trouble = RouterUnavailable("down")
    payment_intents.world.advance(120)  # the kept route expires
    payment_intents.settle(4)
    waiting = payment_intents.load(intent)
    assert waiting.stage is Stage.TAKEN and payment_intents.balance(EXECUTOR) == intent.taking
    assert "not available at the moment" in str(waiting.reason)
    payment_intents.settle(30)
    found = payment_intents.load(intent)
    assert (found.end, payment_intents.balance(PAYER)) == (End.REFUNDED, HAD)
    assert found.returned_by is not None and payment_intents.made["transfer"] == 1
    assert status_sent(payment_intents) == "bounced"
    assert not payment_intents.loaded().is_executed and len(payment_intents.events("payment.failed")) == 1
    check_conserved(payment_intents)


def test_a_dearer_route_is_not_taken_from_others_and_a_cheaper_one_gets_all_that_was_taken(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.minute()
    payment_intents.world.advance(120)
    answered = payment_intents.world.router.change

    def dearer(answer: dict) -> dict:  # type: ignore[type-arg]
        from tests.fakes.router import answer_of, deposit_of

        deposit = deposit_of(payment_intents.world.router.calls[-1], int(payment_intents.world.now.timestamp()))
        changed = type(deposit)(**{**deposit.__dict__, "input_amount": deposit.input_amount + 1})
        return answer_of(changed, payment_intents.world.router.calls[-1])

    payment_intents.world.router.change = dearer
    payment_intents.settle(4)
    assert payment_intents.made["deposit"] == 0 and "more than was signed" in str(payment_intents.load(intent).reason)
    payment_intents.world.router.change = answered
    payment_intents.world.advance(120)
    sent = payment_intents.run_until_bridged(intent)
    assert sent.deposit.input_amount == intent.taking
    check_conserved(payment_intents)


@pytest.mark.parametrize("fees", [(), ((diamond.TREASURY, 30_000),)])
def test_what_the_router_leads_through_its_own_contract_is_deposited_in_the_bridge_itself(
    payment_intents: PaymentIntents, fees: tuple[tuple[str, int], ...]
) -> None:
    def through_it(answer: dict[str, Any]) -> dict[str, Any]:
        wanted = payment_intents.world.router.calls[-1]
        return diamond.answer(diamond.true_call(wanted, int(payment_intents.world.now.timestamp()), fees), wanted)

    payment_intents.world.router.change = through_it
    intent = payment_intents.begun()
    sent = payment_intents.run_until_bridged(intent)
    assert sent.deposit.input_amount == intent.taking == 12_655_100 + sum(amount for _, amount in fees)
    assert (sent.deposit.depositor, sent.deposit.recipient) == (PAYER, diamond.receiver(42161))
    payment_intents.fill(sent)
    payment_intents.settle(3)
    assert payment_intents.load(intent).end is End.SETTLED
    check_conserved(payment_intents)


def test_a_deposit_that_reverts_is_made_anew(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fails.add("deposit")
    payment_intents.settle(5)
    assert payment_intents.load(intent).spends > 1 and payment_intents.made["deposit"] == 0
    payment_intents.fails.clear()
    payment_intents.run_until_bridged(intent)
    check_conserved(payment_intents)


def test_deposits_that_keep_reverting_are_given_up_and_the_tokens_returned(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fails.add("deposit")
    payment_intents.settle(40)
    assert payment_intents.load(intent).end is End.REFUNDED and payment_intents.balance(PAYER) == HAD
    check_conserved(payment_intents)


def test_a_return_that_reverts_is_made_anew_until_it_succeeds(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fails |= {"deposit", "transfer"}
    payment_intents.settle(60)
    assert payment_intents.load(intent).stage is Stage.TAKEN and payment_intents.loaded().is_executed
    payment_intents.fails.clear()
    payment_intents.settle(20)
    assert payment_intents.load(intent).end is End.REFUNDED and payment_intents.balance(PAYER) == HAD
    check_conserved(payment_intents)


def test_a_request_that_was_paid_otherwise_meanwhile_gets_no_second_payment(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.bridge.destination.pay(payment_intents.loaded())
    payment_intents.bridge.tick()
    payment_intents.settle(10)
    assert payment_intents.loaded().status is RequestStatus.PAID and payment_intents.made["take"] == 0
    payment_intents.world.advance(3600 + 700)
    payment_intents.settle(2)
    found = payment_intents.load(intent)
    assert (found.end, payment_intents.balance(PAYER)) == (End.FAILED, HAD) and not payment_intents.loaded().is_executed
    assert payment_intents.events("payment.failed") == []


def test_a_request_that_was_paid_after_the_tokens_were_taken_returns_them(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.minute()
    assert payment_intents.made["take"] == 1
    payment_intents.bridge.destination.pay(payment_intents.loaded())
    payment_intents.bridge.tick()
    payment_intents.settle(5)
    assert payment_intents.load(intent).end is End.REFUNDED and payment_intents.balance(PAYER) == HAD
    assert payment_intents.events("payment.failed") == []
    check_conserved(payment_intents)


def test_a_payer_without_the_tokens_is_not_waited_for_and_nothing_is_taken(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.balances[PAYER.lower()] = 0
    payment_intents.settle(3)
    found = payment_intents.load(intent)
    assert found.end is End.FAILED and "Nothing was taken" in str(found.reason)
    assert status_sent(payment_intents) == "failed"
    assert len(payment_intents.events("payment.failed")) == 1 and not payment_intents.loaded().is_executed


def test_a_take_that_reverts_has_taken_nothing(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.fails.add("take")
    payment_intents.settle(4)
    assert payment_intents.load(intent).end is End.FAILED and payment_intents.balance(PAYER) == HAD
    assert str(payment_intents.load(intent).reason).endswith("before its deadline: reverted without a reason")


def taken(payment_intents: PaymentIntents) -> PaymentIntent:
    """One whose tokens are in the service's account, and whose next step is due."""
    intent = payment_intents.begun()
    for _ in range(6):
        payment_intents.minute()
        call = relayer_store.call(payment_intents.services.store, f"permit/{intent.intent_id}/take")
        if call is not None and call.status is CallStatus.SUCCEEDED:
            return payment_intents.load(intent)
    raise AssertionError(payment_intents.load(intent))


def step(payment_intents: PaymentIntents, intent: PaymentIntent) -> PaymentIntent:
    """The payment intent after a look at it, when it is due."""
    found = payment_intents.load(intent)
    payment_intents.world.now = max(payment_intents.world.now, found.check_at or payment_intents.world.now)
    running.advance(payment_intents.services, intent.intent_id, set())
    return payment_intents.load(intent)


def mined(payment_intents: PaymentIntents) -> None:
    """The chain and the relayer go on for a minute, and nobody looks at payment intents."""
    payment_intents.bridge.tick(1)
    track(payment_intents.services, SOURCE)


def test_a_run_tells_how_many_were_due_and_what_is_in_no_block_yet_is_due_later(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.chain.mempool.holds = True
    assert [running.run_due(payment_intents.services) for _ in range(2)] == [1, 0]
    for _ in range(3):
        waiting = step(payment_intents, intent)
        assert waiting.stage is Stage.TAKING
        assert waiting.check_at is not None and waiting.check_at > payment_intents.world.now


def test_nothing_is_deposited_before_the_bridge_may_take_it_also_if_others_use_the_approval_up(
    payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent, refused = taken(payment_intents), list[str]()
    monkeypatch.setattr(payment_intents.services.log, "warning", lambda message, **_: refused.append(message))
    for approvals in (1, 2, 3):
        waiting = step(payment_intents, intent)
        assert (waiting.reason, waiting.spends) == ("the bridge's contract is being approved", 1)
        waiting = step(payment_intents, intent)
        assert waiting.approvals == approvals
        mined(payment_intents)
        payment_intents.allowances[EXECUTOR.lower(), POOL.lower()] = 0
        assert step(payment_intents, intent).approvals == approvals + 1
    payment_intents.run_until_bridged(intent)
    assert refused == []
    check_conserved(payment_intents)


def test_why_a_deposit_is_refused_is_kept_until_one_is_accepted(payment_intents: PaymentIntents) -> None:
    intent = taken(payment_intents)
    payment_intents.allowances[EXECUTOR.lower(), POOL.lower()] = intent.taking
    payment_intents.refuses["deposit"] = "paused"
    step(payment_intents, intent)
    assert step(payment_intents, intent).reason == "paused"
    payment_intents.refuses.clear()
    assert step(payment_intents, intent).reason is None


def test_what_a_deposit_spends_is_in_the_ledger_of_the_services_account_as_spent(payment_intents: PaymentIntents) -> None:
    intent = taken(payment_intents)
    step(payment_intents, intent)
    (entry,) = payment_intents.services.store.all(Holding)
    assert (entry.owner, entry.received, entry.left) == (f"permit/{intent.intent_id}", intent.taking, intent.taking)
    payment_intents.run_until_bridged(intent)
    (entry,) = payment_intents.services.store.all(Holding)
    assert (entry.received, entry.spent, entry.left) == (intent.taking, intent.taking, 0)


def test_a_deposit_of_which_nothing_is_known_yet_is_looked_at_later_and_one_that_reverted_tells_why(
    payment_intents: PaymentIntents,
) -> None:
    intent = taken(payment_intents)
    payment_intents.fails.add("deposit")
    payment_intents.allowances[EXECUTOR.lower(), POOL.lower()] = intent.taking
    step(payment_intents, intent)
    waiting = step(payment_intents, intent)
    assert (waiting.stage, waiting.spends) == (Stage.TAKEN, 1)
    assert waiting.check_at is not None and waiting.check_at > payment_intents.world.now
    mined(payment_intents)
    found = payment_intents.load(intent)
    payment_intents.world.now = max(payment_intents.world.now, found.check_at or payment_intents.world.now)
    payment_intents.chain.is_down, silent = True, set[str]()
    running.advance(payment_intents.services, intent.intent_id, silent)
    failed = payment_intents.load(intent)
    assert (failed.spends, failed.reason, silent) == (2, "reverted without a reason", {SOURCE})
    payment_intents.chain.is_down = False
    running.advance(payment_intents.services, intent.intent_id, silent)
    assert payment_intents.load(intent) == failed, "a network without an answer is asked no more"


def test_while_gas_is_too_dear_nothing_is_taken_and_what_was_taken_waits(payment_intents: PaymentIntents) -> None:
    usual, dear = payment_intents.chain.mempool.base_fee, 10**12
    payment_intents.chain.mempool.base_fee = dear
    intent = payment_intents.begun()
    payment_intents.settle(5)
    found = payment_intents.load(intent)
    assert found.stage is Stage.TAKING and payment_intents.made["take"] == 0 and found.reason
    payment_intents.chain.mempool.base_fee = usual
    payment_intents.settle(2)
    assert payment_intents.made["take"] == 1
    payment_intents.chain.mempool.base_fee = dear
    payment_intents.settle(20)
    assert payment_intents.load(intent).stage is Stage.TAKEN and payment_intents.made["transfer"] == 0
    payment_intents.chain.mempool.base_fee = usual
    payment_intents.settle(12)
    assert payment_intents.load(intent).end is End.REFUNDED
    check_conserved(payment_intents)


def test_without_coins_for_gas_nothing_is_taken(payment_intents: PaymentIntents) -> None:
    payment_intents.chain.mempool.balance = 0
    intent = payment_intents.begun()
    payment_intents.world.advance(3600 + 700)
    payment_intents.settle(2)
    found = payment_intents.load(intent)
    assert (found.end, payment_intents.made["take"]) == (End.FAILED, 0)
    assert str(found.reason).endswith("before its deadline"), "nobody has tried it, so there is no other reason"


def test_a_token_that_keeps_an_allowance_gets_it_withdrawn_first(payment_intents: PaymentIntents) -> None:
    payment_intents.keeps_allowance = True
    payment_intents.allowances[EXECUTOR.lower(), POOL.lower()] = 1
    intent = payment_intents.begun()
    payment_intents.run_until_bridged(intent)
    assert payment_intents.made["approve"] == 2
    check_conserved(payment_intents)


def test_a_node_that_is_silent_delays_and_decides_nothing(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.chain.is_down = True
    payment_intents.run()
    payment_intents.world.advance(600)
    payment_intents.run()
    assert payment_intents.load(intent).stage is Stage.TAKING
    payment_intents.chain.is_down = False
    payment_intents.run_until_bridged(intent)
    check_conserved(payment_intents)


class OtherKeys(PlainSigningKeys):
    private_key = bytes.fromhex("22" * 32)


def test_an_account_that_was_replaced_spends_nothing(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    payment_intents.minute()
    before = payment_intents.services
    payment_intents.run()
    payment_intents.world.services = replace(before, signing_keys=OtherKeys())
    payment_intents.settle(30)
    found = payment_intents.load(intent)
    assert found.stage is Stage.TAKEN and "is not" in str(found.reason) and payment_intents.balance(EXECUTOR) == intent.taking


def test_an_account_that_was_replaced_takes_nothing(payment_intents: PaymentIntents) -> None:
    intent, before = payment_intents.begun(), len(payment_intents.chain.mempool.sent)
    payment_intents.world.services = replace(payment_intents.services, signing_keys=OtherKeys())
    payment_intents.settle(3)
    found = payment_intents.load(intent)
    assert (found.stage, len(payment_intents.chain.mempool.sent)) == (Stage.TAKING, before)
    assert "is not" in str(found.reason) and payment_intents.balance(PAYER) == HAD


def test_two_payments_at_once_take_and_spend_what_is_theirs(payment_intents: PaymentIntents) -> None:
    other = payment_intents.new_request()
    first, second = payment_intents.begun(), payment_intents.accept(payment_intents.offer(other).intent)
    payment_intents.settle(14)
    assert payment_intents.made["take"] == 2 == payment_intents.made["deposit"] + payment_intents.made["transfer"]
    assert payment_intents.balance(EXECUTOR) == 0
    assert payment_intents.balance(PAYER) + payment_intents.balance(POOL) == HAD
    assert {payment_intents.load(each).stage for each in (first, second)} == {Stage.BRIDGED}


@pytest.mark.parametrize("count", [3, 6, 12])
def test_many_payments_at_once_do_not_take_the_approvals_from_each_other(payment_intents: PaymentIntents, count: int) -> None:
    begun = [payment_intents.accept(payment_intents.offer(payment_intents.new_request()).intent) for _ in range(count)]
    payment_intents.settle(8 + 2 * count)  # those of one payer are taken one after the other
    assert {payment_intents.load(each).stage for each in begun} == {Stage.BRIDGED}
    assert payment_intents.made["approve"] <= count and payment_intents.balance(EXECUTOR) == 0


def test_a_payment_that_hangs_is_told_to_the_operator(payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch) -> None:
    intent, lines = payment_intents.begun(), list[str]()
    payment_intents.settle(2)
    monkeypatch.setattr(payment_intents.services.log, "error", lambda message, **_: lines.append(message))
    payment_intents.refuses = {"transfer": "the account is on a list", "deposit": "paused"}
    payment_intents.world.advance(timedelta(hours=1).total_seconds())
    payment_intents.settle(2)
    assert lines == []
    payment_intents.world.advance(timedelta(hours=2).total_seconds())
    payment_intents.settle(2)
    assert "payment intent overdue" in lines
    assert payment_intents.load(intent).stage is Stage.TAKEN and payment_intents.loaded().is_executed


def test_nothing_is_lost_by_a_network_without_an_answer(payment_intents: PaymentIntents) -> None:
    with pytest.raises(ChainUnavailable):
        payment_intents.chain.is_down = True
        payment_intents.offer()


# --- forks that are deeper than the confirmations ---


def say(payment_intents: PaymentIntents, intent: PaymentIntent, step: str, **changes: Any) -> None:
    """The relayer says something else of a call than before, as it does after such a fork."""
    call = relayer_store.call(payment_intents.services.store, f"permit/{intent.intent_id}/{step}")
    assert call is not None
    payment_intents.services.store.write(replace(call, **changes))


@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REVERTED])
def test_after_a_fork_that_gave_the_tokens_back_those_of_others_are_not_spent(
    payment_intents: PaymentIntents, status: CallStatus
) -> None:
    intent = payment_intents.begun()
    payment_intents.minute()
    payment_intents.world.router.trouble = RouterUnavailable("down")
    payment_intents.world.advance(120)  # the kept route expires
    payment_intents.settle(1)
    assert payment_intents.load(intent).stage is Stage.TAKEN
    payment_intents.world.router.trouble = None
    say(payment_intents, intent, "take", status=CallStatus.UNKNOWN)
    payment_intents.settle(30)  # by now they would go back, too
    assert payment_intents.made["deposit"] == payment_intents.made["transfer"] == 0 and payment_intents.loaded().is_executed
    say(payment_intents, intent, "take", status=status)
    payment_intents.settle(15)
    is_taken = status is CallStatus.SUCCEEDED
    assert payment_intents.load(intent).end is (End.REFUNDED if is_taken else End.FAILED)
    assert is_taken or str(payment_intents.load(intent).reason).startswith("Nothing was taken")
    assert payment_intents.made["transfer"] == is_taken and not payment_intents.loaded().is_executed


def test_after_a_fork_the_deposit_is_followed_by_its_new_hash(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    sent = payment_intents.run_until_bridged(intent)
    payment_intents.settle(2)
    assert payment_intents.load(intent).stage is Stage.BRIDGED
    again = "0x" + "5e" * 32
    payment_intents.chain.transactions[again] = payment_intents.chain.transactions.pop(sent.tx_hash)
    say(payment_intents, intent, "spend/1", tx_hash=again)
    payment_intents.settle(40)
    announced = payment_intents.load(intent).announced
    assert announced is not None and announced.transaction_hash == again
    payment_intents.fill(sent)
    payment_intents.settle(10)
    assert payment_intents.load(intent).end is End.SETTLED
    check_conserved(payment_intents)


def test_a_deposit_that_the_node_does_not_have_is_told_to_the_operator(
    payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent, lines = payment_intents.begun(), list[str]()
    monkeypatch.setattr(payment_intents.services.log, "error", lambda message, **_: lines.append(message))
    sent = payment_intents.run_until_bridged(intent)
    payment_intents.chain.transactions[sent.tx_hash] = replace(payment_intents.chain.transactions[sent.tx_hash], success=False, deposits=())
    payment_intents.settle(5)
    assert payment_intents.load(intent).stage is Stage.BRIDGED and payment_intents.loaded().is_executed
    assert "payment intent overdue" in lines


def test_after_a_fork_in_which_the_deposit_reverted_it_is_made_anew(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    sent = payment_intents.run_until_bridged(intent)
    payment_intents.settle(2)
    del payment_intents.chain.transactions[sent.tx_hash]
    payment_intents.move(POOL, EXECUTOR, sent.deposit.input_amount)
    say(payment_intents, intent, "spend/1", status=CallStatus.REVERTED)
    (entry,) = payment_intents.services.store.all(Holding)
    total = HoldingsTotal(entry.network, entry.account, entry.token)
    payment_intents.services.store.write(replace(entry, spent=BaseUnits(0)), Add(total, {TOTAL: entry.spent}))
    payment_intents.settle(40)
    assert payment_intents.load(intent).spends == 2 and payment_intents.balance(EXECUTOR) == 0
    assert payment_intents.made["deposit"] + payment_intents.made["transfer"] == 2


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("allowance", [0, MAX_UINT256])
def test_no_node_alone_says_whether_the_bridge_may_take_the_tokens(allowance: int, is_first: bool) -> None:
    """By one that says no it would be approved again at each look, and by one that says yes never."""
    payment_intents = PaymentIntents()
    intent = payment_intents.begun()
    honest, services = payment_intents.chain, payment_intents.services
    said = WalletReading(
        BaseUnits(10**18), {SOURCE_USDC: TokenReading(BaseUnits(HAD), BaseUnits(allowance))}, BaseUnits(10**9), 0, False
    )
    liar = Liar(honest, read_wallet=lambda *args, **kwargs: said)
    payment_intents.world.services = served_beside(services, SOURCE, liar, is_first)
    payment_intents.settle(8)
    assert payment_intents.made["approve"] <= 1
    payment_intents.world.services = services
    payment_intents.run_until_bridged(intent)
    assert (payment_intents.made["approve"], payment_intents.made["deposit"]) == (1, 1)


@pytest.mark.parametrize(("left", "is_taken"), [(30, True), (29, False)])
def test_tokens_whose_deadline_may_be_over_before_their_block_are_not_taken(left: int, is_taken: bool) -> None:
    """The call would be reverted, and delay its payer by a day."""
    payment_intents = PaymentIntents()
    intent = payment_intents.begun()
    payment_intents.world.now = deadline_of(intent.permit) - timedelta(seconds=left)
    payment_intents.run()
    assert bool(payment_intents.chain.mempool.sent) is is_taken


def test_payment_intents_of_another_account_take_no_turn_of_this_one(payment_intents: PaymentIntents) -> None:
    """The node takes ten seconds for each call that it runs, so that a run of 40 seconds has time for few."""
    own, refuse, run = payment_intents.begun(), payment_intents.chain.mempool.dry_run, list[str]()
    for number in range(20):
        copied = {"intent_id": f"{own.intent_id[:-2]}{number:02}", "account_id": "flood", "version": 0}
        payment_intents.services.store.write(replace(own, **copied))
    payment_intents.world.advance(1)
    waiting = payment_intents.services.store.write(replace(payment_intents.load(own), check_at=payment_intents.world.now))

    def refuse_slowly(to: str, data: str) -> str | None:
        payment_intents.world.advance(10)
        run.append(data)
        return refuse(to, data)

    payment_intents.chain.mempool.dry_run = refuse_slowly
    payment_intents.run()
    assert payment_intents.load(own) != waiting and len(run) < 20
