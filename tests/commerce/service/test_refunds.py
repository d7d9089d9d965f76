"""Refunds that the service executes: how soon, and what becomes of the tokens if its key or a fork comes between."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.commerce.core.records import OperationKind, PendingOperation
from chalicelib.commerce.service import due_payments, refunds, rules
from chalicelib.platform.access.credentials.records import Account
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.holdings import store as holdings_store
from chalicelib.relayer.records import CallStatus
from infra import admin
from tests.fakes.commerce import new_payment
from tests.fakes.escrows import CONTRACTS, OPERATOR, PAYER, Commerce, check_conserved
from tests.fakes.lying_node import Liar, served_beside
from tests.fakes.world import PAYEE, START, PlainSigningKeys
from tests.support.keyed import Sent


class OtherKeys(PlainSigningKeys):
    private_key = bytes.fromhex("5d" * 32)


@pytest.fixture
def commerce() -> Commerce:
    return Commerce()


@pytest.fixture
def taken(commerce: Commerce) -> Any:
    """A payment for whose refund the tokens are in the service's account, while the refund itself cannot be made."""
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.refuses["refund"] = "refused for now"
    commerce.refund(created, 10)
    commerce.settle(2)
    pending = commerce.load(created).pending
    assert pending is not None and pending.step == refunds.SPEND and commerce.balance(OPERATOR) == 10
    commerce.refuses.clear()
    return created


def said(commerce: Commerce, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines = list[str]()
    monkeypatch.setattr(commerce.services.log, "error", lambda message, **_: lines.append(message))
    return lines


def test_the_approval_is_sent_with_the_take_and_the_refund_by_the_first_run_after_that_is_confirmed(
    commerce: Commerce,
) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.chain.mempool.sent.clear()
    commerce.refund(created, 10)
    take, approve = commerce.chain.mempool.sent
    assert approve.nonce == take.nonce + 1
    commerce.settle(1)
    commerce.settle(1)
    assert commerce.load(created).refunded == 10 and commerce.made["refund"] == 1
    check_conserved(commerce)


def test_nothing_is_spent_while_the_take_is_not_as_deep_as_confirmations_demand(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.chain.mempool.holds = True
    commerce.refund(created, 10)
    commerce.balances[OPERATOR.lower()] += 10  # of others
    commerce.settle(20)
    assert commerce.made["refund"] == commerce.made["transfer"] == 0


def test_tokens_that_stay_because_the_key_was_replaced_are_told_and_go_on_with_the_former_key(
    commerce: Commerce, taken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, former = said(commerce, monkeypatch), commerce.world.services
    commerce.world.services = replace(former, signing_keys=OtherKeys())  # type: ignore[arg-type]
    commerce.settle(40)
    assert "commerce refund overdue" not in lines
    commerce.settle(60)
    assert "commerce refund overdue" in lines and commerce.balance(OPERATOR) == 10
    assert commerce.load(taken).pending is not None, "nothing else begins while they are there"
    commerce.world.services = former
    commerce.settle(30)
    assert commerce.load(taken).pending is None and commerce.made["transfer"] == 1
    check_conserved(commerce)


@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REVERTED])
def test_after_a_fork_that_gave_the_tokens_back_those_of_others_are_not_spent(
    commerce: Commerce, taken: Any, status: CallStatus
) -> None:
    pending = commerce.load(taken).pending
    assert pending is not None
    (key,) = [each for each in pending.call_keys if "/take/" in each]

    def say(status: CallStatus) -> None:
        call = relayer_store.call(commerce.services.store, key)
        assert call is not None
        commerce.services.store.write(replace(call, status=status))

    say(CallStatus.UNKNOWN)
    commerce.world.advance(timedelta(minutes=40).total_seconds())  # by now they would go back, too
    commerce.settle(10)
    assert commerce.made["refund"] == commerce.made["transfer"] == 0
    say(status)
    commerce.settle(15)
    assert commerce.load(taken).pending is None
    assert commerce.made["transfer"] == (status is CallStatus.SUCCEEDED)


def test_a_token_that_changes_no_allowance_but_zero_is_refunded_too(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.approves_from_zero_only = True
    commerce.allow(OPERATOR, CONTRACTS.operator_refund, 3)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.made.clear()
    commerce.refund(created, 10)
    commerce.settle(6)
    assert commerce.load(created).refunded == 10
    assert (commerce.made["approve"], commerce.made["refund"], commerce.made["transfer"]) == (2, 1, 0)
    check_conserved(commerce)


def test_an_allowance_that_another_refund_has_used_is_given_again(commerce: Commerce, taken: Any) -> None:
    before = commerce.made["approve"]
    commerce.allow(OPERATOR, CONTRACTS.operator_refund, 9)
    commerce.settle(6)
    assert (commerce.load(taken).refunded, commerce.made["transfer"]) == (10, 0)
    assert commerce.made["approve"] == before + 1
    check_conserved(commerce)


def test_refunds_of_others_that_begin_again_and_again_stop_none(commerce: Commerce) -> None:
    victim, *others = [commerce.captured(fee_bps=0) for _ in range(3)]
    commerce.allow(PAYEE, OPERATOR, 10**9)
    commerce.refuses["refund"], before = "refused for now", commerce.made["approve"]
    commerce.refund(victim, 10)
    commerce.settle(2)
    assert commerce.balance(OPERATOR) == 10
    commerce.refuses.clear()
    for minute in range(3):
        if commerce.load(others[minute % 2]).pending is None:
            commerce.refund(others[minute % 2], 1)  # before the run of the schedule, with its own approval
            commerce.world.relay()
        commerce.minute()
    assert commerce.load(victim).refunded == 10
    assert commerce.made["approve"] - before <= 4, "one for each"
    commerce.settle(4)
    check_conserved(commerce)


@pytest.mark.parametrize(
    ("changes", "age", "spends", "is_returned"),
    [
        ({}, timedelta(minutes=30), 1, False),
        ({}, timedelta(minutes=30, seconds=1), 1, True),
        ({}, timedelta(0), 5, False),
        ({}, timedelta(0), 6, True),
        ({"refunded": BaseUnits(90)}, timedelta(0), 1, False),
        ({"refunded": BaseUnits(91)}, timedelta(0), 1, True),
        ({"refund_expiry": START + timedelta(minutes=5)}, timedelta(minutes=4, seconds=29), 1, False),
        ({"refund_expiry": START + timedelta(minutes=5)}, timedelta(minutes=4, seconds=30), 1, True),
    ],
)
def test_tokens_go_back_after_the_expiry_half_an_hour_five_calls_or_if_too_little_can_be_refunded(
    changes: dict[str, Any], age: timedelta, spends: int, is_returned: bool
) -> None:
    payment = new_payment(START, authorized=BaseUnits(100), captured=BaseUnits(100), **changes)
    keys = ("c/approve/1", "c/take/1", *(f"c/spend/{number}" for number in range(1, spends + 1)))
    pending = PendingOperation(1, OperationKind.REFUND, BaseUnits(10), START, step=refunds.SPEND, call_keys=keys)
    assert refunds.is_returned(payment, pending, START + age) is is_returned


def approvals(commerce: Commerce, created: Any) -> int:
    """How many keys of approvals the pending refund has used."""
    pending = commerce.load(created).pending
    assert pending is not None
    return sum("/approve/" in key for key in pending.call_keys)


def test_an_approval_that_cannot_be_sent_is_tried_again_by_the_same_key_until_it_is(commerce: Commerce, taken: Any) -> None:
    commerce.allow(OPERATOR, CONTRACTS.operator_refund, 9)
    due_payments.look(commerce.services, taken.payment.payable_id, set())  # the first approval is made: another key
    commerce.chain.mempool.base_fee, before = 10**15, approvals(commerce, taken)
    commerce.settle(5)
    assert approvals(commerce, taken) == before == 2 and commerce.load(taken).refunded == 0
    commerce.chain.mempool.base_fee = 10**9
    commerce.settle(6)
    assert (commerce.load(taken).refunded, commerce.made["transfer"]) == (10, 0)
    check_conserved(commerce)


def test_a_wallet_that_has_spent_what_it_received_is_told_what_it_has(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.send(PAYEE, erc20.transfer(commerce.token, PAYER, commerce.balance(PAYEE) - 9))
    with pytest.raises(Conflict, match=f"wallet {PAYEE} has 9 base units"):
        commerce.refund(created, 10)
    assert commerce.load(created).pending is None
    commerce.refund(created, 9)
    commerce.settle(3)
    assert commerce.load(created).refunded == 9


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("amount", [0, 10**30])
def test_no_node_alone_says_whether_the_merchant_has_the_tokens_of_a_refund(
    commerce: Commerce, amount: int, is_first: bool
) -> None:
    created = commerce.captured(fee_bps=0)
    said = TokenReading(BaseUnits(amount), BaseUnits(amount))
    reading = WalletReading(BaseUnits(10**18), {commerce.token: said}, BaseUnits(10**9), 0, False)
    liar = Liar(commerce.chain, read_wallet=lambda *args, **kwargs: reading)
    honest = commerce.services
    commerce.world.services = served_beside(honest, "sepolia", liar, is_first)
    if amount:
        with pytest.raises(Conflict):
            commerce.refund(created, 10)
        assert commerce.load(created).pending is None and commerce.made["transferFrom"] == 0
    commerce.allow(PAYEE, OPERATOR, 10)
    assert commerce.refund(created, 10).transaction_hash is not None


def test_a_refund_whose_tokens_cannot_be_taken_for_an_hour_goes_back_and_takes_none_later(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.chain.mempool.base_fee = 10**15
    assert commerce.refund(created, 10).transaction_hash is None
    commerce.settle(70)
    payment = commerce.load(created)
    assert (payment.pending, payment.failure) == (None, rules.TOO_LATE)
    commerce.chain.mempool.base_fee = 10**9
    commerce.settle(3)
    assert commerce.made["transferFrom"] == 0


def balance_for(commerce: Commerce, created: Any) -> int:
    """What the ledger of the service's account has for the first refund of a payment."""
    payment = commerce.load(created)
    owner = f"commerce/{payment.request_id}/3"  # the number after the authorization and the capture
    place = (commerce.token.lower(), owner)
    entry = holdings_store.entries(commerce.services.store, "sepolia", OPERATOR, [place]).get(place)
    return entry.left if entry is not None else 0


def test_what_was_taken_is_in_the_ledger_for_this_refund_alone_until_it_is_spent(commerce: Commerce, taken: Any) -> None:
    assert balance_for(commerce, taken) == 10
    commerce.settle(3)
    assert commerce.load(taken).refunded == 10 and balance_for(commerce, taken) == 0


def test_the_transaction_that_is_shown_is_the_take_until_it_is_proven_then_none_then_the_refund(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.refuses["refund"] = "refused for now"
    commerce.chain.mempool.sent.clear()
    commerce.refund(created, 10)

    def pending() -> PendingOperation:
        found = commerce.load(created).pending
        assert found is not None
        return found

    take = commerce.chain.mempool.sent[0].tx_hash
    due_payments.look(commerce.services, created.payment.payable_id, set())
    commerce.world.now += timedelta(minutes=1)
    due_payments.look(commerce.services, created.payment.payable_id, set())
    assert (pending().step, pending().transaction_hash) == (refunds.TAKE, take)
    commerce.settle(2)
    assert (pending().step, pending().transaction_hash) == (refunds.SPEND, None)
    commerce.refuses.clear()
    due_payments.look(commerce.services, created.payment.payable_id, set())
    assert pending().transaction_hash == commerce.chain.mempool.sent[-1].tx_hash


def keys_of(commerce: Commerce, created: Any, step: str) -> list[str]:
    """The numbers of the calls of a step of the pending refund, in the order in which they were added."""
    pending = commerce.load(created).pending
    assert pending is not None
    return [key.rpartition("/")[2] for key in pending.call_keys if f"/{step}/" in key]


def test_while_it_is_not_known_what_became_of_the_refund_no_other_call_is_begun(commerce: Commerce, taken: Any) -> None:
    commerce.chain.mempool.holds = True
    for _ in range(5):
        due_payments.look(commerce.services, taken.payment.payable_id, set())
        commerce.world.now += timedelta(minutes=20)
    assert keys_of(commerce, taken, refunds.SPEND) == ["1"]
    commerce.chain.mempool.holds = False
    commerce.settle(3)
    assert (commerce.load(taken).refunded, commerce.made["transfer"]) == (10, 0)


def test_a_refund_that_reverted_is_made_again_only_after_everything_of_its_block_was_read(
    commerce: Commerce, taken: Any
) -> None:
    commerce.fails.add("refund")
    due_payments.look(commerce.services, taken.payment.payable_id, set())
    commerce.world.now += timedelta(minutes=1)
    commerce.world.relay()
    due_payments.look(commerce.services, taken.payment.payable_id, set())
    assert keys_of(commerce, taken, refunds.SPEND) == ["1"], "a log of it may still come"
    commerce.world.scan()
    commerce.world.now += timedelta(minutes=1)
    due_payments.look(commerce.services, taken.payment.payable_id, set())
    assert keys_of(commerce, taken, refunds.SPEND) == ["1", "2"]


def test_each_approval_that_others_have_used_up_is_followed_by_one_of_the_next_number(
    commerce: Commerce, taken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = list[str]()
    monkeypatch.setattr(commerce.services.log, "warning", lambda message, **_: refused.append(message))
    for number in ("2", "3"):
        commerce.allow(OPERATOR, CONTRACTS.operator_refund, 9)
        due_payments.look(commerce.services, taken.payment.payable_id, set())
        assert keys_of(commerce, taken, refunds.APPROVE)[-1] == number
        commerce.world.now += timedelta(minutes=1)
        commerce.world.relay()
    assert keys_of(commerce, taken, refunds.APPROVE) == ["1", "2", "3"]
    assert refused == [], "no refund is tried before its approval"


def test_a_refund_that_reverts_is_made_again_by_a_call_of_its_own_five_times_before_the_tokens_go_back(
    commerce: Commerce,
) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.fails.add("refund")
    commerce.chain.mempool.sent.clear()
    commerce.refund(created, 10)
    commerce.settle(20)
    tried = [each for each in commerce.chain.mempool.sent if each.data[2:10] == escrow_calls.REFUND.hex()]
    assert len(tried) == 5 and commerce.made["transfer"] == 1
    assert commerce.load(created).failure == refunds.RETURNED
    check_conserved(commerce)


def test_asked_for_again_a_refund_shows_the_newest_of_its_transactions_and_none_while_the_next_is_not_sent(
    commerce: Commerce,
) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    first = commerce.refund(created, 10)
    assert first.transaction_hash is not None
    assert commerce.refund(created, 10).transaction_hash == first.transaction_hash, "not that of the approval"
    commerce.world.advance(60)
    commerce.world.relay()
    commerce.chain.is_down = True
    due_payments.look(commerce.services, created.payment.payable_id, set())
    commerce.chain.is_down = False
    asked = commerce.refund(created, 10)
    assert (asked.step, asked.transaction_hash) == (refunds.SPEND, None)


def test_asked_for_again_a_refund_never_shows_an_approval(commerce: Commerce, taken: Any) -> None:
    before = commerce.made["approve"]
    commerce.allow(OPERATOR, CONTRACTS.operator_refund, 9)
    for _ in range(2):
        due_payments.look(commerce.services, taken.payment.payable_id, set())
        assert commerce.refund(taken, 10).transaction_hash is None
        commerce.world.now += timedelta(minutes=1)
    commerce.world.relay()
    assert (keys_of(commerce, taken, refunds.APPROVE), commerce.made["approve"]) == (["1", "2"], before + 1)
    due_payments.look(commerce.services, taken.payment.payable_id, set())
    assert commerce.refund(taken, 10).transaction_hash == commerce.chain.mempool.sent[-1].tx_hash, "the refund"


def test_nothing_is_approved_for_a_refund_whose_tokens_cannot_be_taken(commerce: Commerce) -> None:
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    before = commerce.made["approve"]
    commerce.refuses["transferFrom"] = "the token is paused"
    with pytest.raises(Conflict, match="nothing was sent: the token is paused"):
        commerce.refund(created, 10)
    commerce.settle(2)
    assert commerce.made["approve"] == before


def test_a_refund_that_the_chain_refused_is_made_under_the_same_idempotency_key_once_it_can_be(
    commerce: Commerce,
) -> None:
    """What was written for it was taken back: kept for a day, the refusal would hold up the rightful retry."""
    created = commerce.captured(fee_bps=0)
    commerce.allow(PAYEE, OPERATOR, 10)
    commerce.services.store.write(Account("acct", "shop", commerce.world.now))
    headers = {"x-api-key": admin.create_api_key(commerce.services, "acct", "server")}
    path = {"request_id": created.payment.request_id}
    sent = Sent("refund_commerce_payment", {"refundAmount": "10"}, headers, path)
    commerce.refuses["transferFrom"] = "the token is paused"
    for _ in range(2):
        refused = sent.to(commerce.services)
        assert refused.status == 409 and "nothing was sent: the token is paused" in refused.json["message"]
        assert "idempotent-replayed" not in refused.headers
    del commerce.refuses["transferFrom"]
    made = sent.to(commerce.services)
    assert made.status == 200, made.json
    again = sent.to(commerce.services)
    assert (again.json, again.headers["idempotent-replayed"]) == (made.json, "true")
    commerce.settle(6)
    assert commerce.load(created).refunded == 10


def test_somebody_is_told_of_tokens_that_stay_from_the_second_after_an_hour_on(
    commerce: Commerce, taken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = said(commerce, monkeypatch)
    commerce.world.services = replace(commerce.services, signing_keys=OtherKeys())  # type: ignore[arg-type]
    pending = commerce.load(taken).pending
    assert pending is not None
    for late, reported in ((timedelta(0), 0), (timedelta(seconds=1), 1)):
        commerce.world.now = pending.submitted_at + refunds.OVERDUE_AFTER + late
        commerce.services.store.write(replace(commerce.load(taken), check_at=commerce.world.now))
        due_payments.look(commerce.services, taken.payment.payable_id, set())
        assert lines.count("commerce refund overdue") == reported
