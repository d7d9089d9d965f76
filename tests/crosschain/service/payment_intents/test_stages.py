"""The limits of what is decided about signed payments, to the second and to the base unit."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import decode_deposit
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.crosschain.service.payment_intents import rules, stages
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import Signed
from chalicelib.crosschain.service.router import flows as router
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.core.rules import OVER
from chalicelib.payments.links.records import AnnouncedStatus
from chalicelib.payments.requests.executions import Execution, ExecutionStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import Taking
from chalicelib.relayer.rules import Use, signature_gas
from tests.fakes.offramps import load_order, store_order
from tests.fakes.payment_intents import CONTRACT, EXECUTOR, PAYER, POOL, RIGHT, PaymentIntents

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture(scope="module")
def payment_intents() -> PaymentIntents:
    return PaymentIntents()


@pytest.fixture(scope="module")
def offered(payment_intents: PaymentIntents) -> PaymentIntent:
    return payment_intents.offer().intent


@pytest.fixture(scope="module")
def signed(payment_intents: PaymentIntents, offered: PaymentIntent) -> PaymentIntent:
    now = payment_intents.world.now
    return rules.accept_intent(offered, RIGHT, None, BaseUnits(12_655_100), 7, now)


def deadline(intent: PaymentIntent) -> datetime:
    return intent.created_at + HOUR


def test_a_payment_intent_says_what_is_paid_from_where_and_by_whom(payment_intents: PaymentIntents, offered: PaymentIntent) -> None:
    permit, now = offered.permit, payment_intents.world.now
    assert (permit.spender, offered.payer, permit.network, permit.source.chain_id) == (EXECUTOR, PAYER, "base", 8453)
    assert (permit.destination.account, permit.destination.chain_id) == (payment_intents.request.payee, 42161)
    assert (permit.net, permit.fee, permit.most) == (12_625_000, 93_375, 12_655_100 * 10_050 // 10_000)
    assert (offered.amount, offered.due, offered.owed, offered.rate) == (12_625_000, 12_500_000, 12_500_000, None)
    assert rules.deadline_of(permit) == deadline(offered)
    assert permit.processing_date == int((now + 5 * HOUR).timestamp())
    assert permit.nonce >> 64 == int(now.timestamp() * 1000)
    assert len(permit.operator_id) == 66 and offered.stage is Stage.OFFERED and offered.check_at is None
    wanted = rules.question_of(offered, payment_intents.request)
    assert (wanted.payer, wanted.fallback, wanted.call, wanted.amount) == (PAYER, PAYER, offered.call, offered.amount)


def test_64_bits_of_a_nonce_are_random() -> None:
    made = PaymentIntents(seed=3)
    assert max((made.offer().intent.permit.nonce & (2**64 - 1)).bit_length() for _ in range(12)) > 56


def test_a_signature_is_accepted_until_two_minutes_before_the_deadline(offered: PaymentIntent) -> None:
    sent = Signed(RIGHT, str(offered.permit.nonce), str(offered.permit.deadline))
    last = deadline(offered) - 2 * MINUTE
    rules.check_signed(offered, sent, None, last)
    with pytest.raises(BadRequest, match="has expired"):
        rules.check_signed(offered, sent, None, last + SECOND)


def test_an_approval_has_the_nonce_and_the_deadline_of_its_payload(offered: PaymentIntent) -> None:
    sent, now = Signed(RIGHT, str(offered.permit.nonce), str(offered.permit.deadline)), offered.created_at
    with pytest.raises(BadRequest, match="has no approvalPermitPayload"):
        rules.check_signed(offered, sent, sent, now)


def test_what_is_accepted_is_looked_at_at_once(payment_intents: PaymentIntents, signed: PaymentIntent) -> None:
    assert (signed.stage, signed.signature) == (Stage.TAKING, "0x" + RIGHT.hex())
    assert signed.check_at == signed.accepted_at == payment_intents.world.now
    assert (signed.taking, signed.searched_to, signed.approval_signature) == (12_655_100, 7, None)
    assert rules.accept_intent(signed, RIGHT, RIGHT, signed.taking, 7, payment_intents.world.now).approval_signature == "0x" + RIGHT.hex()


def test_the_tokens_are_taken_until_30_seconds_before_the_deadline_and_the_payment_fails_ten_minutes_after_it(
    signed: PaymentIntent,
) -> None:
    last = deadline(signed)
    assert stages.may_take(signed, last - 30 * SECOND) and not stages.may_take(signed, last - 29 * SECOND)
    assert not stages.cannot_be_taken(signed, last + 10 * MINUTE)
    assert stages.cannot_be_taken(signed, last + 10 * MINUTE + SECOND)
    call = stages.take_call(signed)
    assert (call.to, call.value) == (CONTRACT, 0) and RIGHT.hex() in call.data
    assert stages.call_key(signed, "take") == f"permit/{signed.intent_id}/take"


def test_a_reading_that_contradicts_a_signature_counts_from_30_seconds_after_it_on(signed: PaymentIntent) -> None:
    assert signed.accepted_at is not None
    first = signed.accepted_at + 30 * SECOND
    assert rules.may_contradict(signed, first) and not rules.may_contradict(signed, first - timedelta(milliseconds=1))
    assert not rules.may_contradict(replace(signed, stage=Stage.TAKEN), first)


def test_a_route_is_looked_for_for_15_minutes_and_five_deposits(signed: PaymentIntent) -> None:
    at = signed.created_at + SECOND
    taken = stages.enter_taken(replace(signed, reason="none yet"), at)
    assert (taken.stage, taken.taken_at, taken.check_at, taken.reason) == (Stage.TAKEN, at, at, None)
    assert not stages.is_given_up(taken, at + 15 * MINUTE)
    assert stages.is_given_up(taken, at + 15 * MINUTE + SECOND)
    assert not stages.is_given_up(replace(taken, spends=5), at) and stages.is_given_up(replace(taken, spends=6), at)
    assert not stages.is_overdue(taken, at + 2 * HOUR) and stages.is_overdue(taken, at + 2 * HOUR + SECOND)
    assert not stages.is_overdue(replace(taken, stage=Stage.BRIDGED), at + 9 * HOUR)


def test_a_route_is_deposited_for_with_all_that_was_taken_or_not_at_all(payment_intents: PaymentIntents, signed: PaymentIntent) -> None:
    route = router.quote(payment_intents.services, rules.question_of(signed, payment_intents.request), rules.purpose_of(signed))
    for more in (0, 1, 1000):
        made = stages.deposit_of(replace(signed, taking=BaseUnits(route.source_amount + more)), route)
        deposit = decode_deposit(made.data) if made is not None else None
        assert made is not None and deposit is not None and (made.to, made.value) == (POOL, 0)
        assert deposit.input_amount == route.source_amount + more
        assert replace(deposit, input_amount=0) == replace(decode_deposit(route.transaction.data), input_amount=0)  # type: ignore[type-var]
    assert stages.deposit_of(replace(signed, taking=BaseUnits(route.source_amount - 1)), route) is None


def test_a_deposit_is_followed_from_where_the_payment_was_accepted(payment_intents: PaymentIntents, signed: PaymentIntent) -> None:
    at = signed.created_at + MINUTE
    before = replace(stages.enter_taken(signed, at - SECOND), reason="none yet")
    bridged = stages.enter_bridged(before, payment_intents.request, "0x" + "12" * 32, at)
    announced = bridged.announced
    assert announced is not None and announced.bridge_transfer is not None
    assert (bridged.stage, bridged.check_at, bridged.reason) == (Stage.BRIDGED, at, None)
    assert (announced.transaction_hash, announced.wallet, announced.payer_address) == ("0x" + "12" * 32, EXECUTOR, PAYER)
    assert (announced.link_token, announced.network, announced.account_id) == (payment_intents.request.payable_id, "base", "acct")
    assert (announced.scanned_to, announced.created_at, announced.check_at) == (0, at, at)
    assert (announced.ends_at, announced.bridge_transfer.destination) == (at + HOUR, "arbitrum-one")
    undone = stages.undone(bridged, at + MINUTE)
    assert (undone.stage, undone.announced, undone.check_at) == (Stage.TAKEN, None, at + MINUTE)
    for status, end in ((AnnouncedStatus.SETTLED, End.SETTLED), (AnnouncedStatus.PARTIAL, End.PARTIAL), (AnnouncedStatus.REFUNDED, End.REFUNDED)):
        observed = replace(announced, status=status, bridge_transfer=replace(announced.bridge_transfer, reason="why"))
        done = stages.follow_bridge(bridged, observed, at)
        assert (done.stage, done.end, done.ended_at, done.check_at) == (Stage.ENDED, end, at, None)
        assert (done.announced, done.reason) == (observed, "why")
        assert not stages.is_contradicted(done, replace(announced, status=status))
    for status in (AnnouncedStatus.FAILED, AnnouncedStatus.REPLACED, AnnouncedStatus.LAPSED):
        observed = replace(announced, status=status, bridge_transfer=replace(announced.bridge_transfer, reason="why"))
        kept = stages.follow_bridge(bridged, observed, at)
        assert (kept.stage, kept.end, kept.announced, kept.reason) == (Stage.BRIDGED, None, announced, "why")
        assert stages.follow_bridge(bridged, replace(observed, bridge_transfer=None), at).reason is None
        assert kept.check_at is not None and kept.check_at > at and stages.is_contradicted(kept, observed)
    later = replace(announced, check_at=at + 3 * MINUTE)
    pending = stages.follow_bridge(bridged, later, at)
    assert (pending.stage, pending.announced, pending.check_at) == (Stage.BRIDGED, later, at + 3 * MINUTE)
    assert not stages.is_contradicted(pending, later)


@given(st.integers(0, 100_000))
def test_the_next_check_follows_in_an_eighth_of_the_time_so_far(signed: PaymentIntent, seconds: int) -> None:
    now = signed.created_at + timedelta(seconds=seconds)
    for each in (signed, stages.enter_taken(replace(signed, accepted_at=None), signed.created_at)):
        checked = stages.postpone_check(each, now).check_at
        assert checked is not None
        assert (checked - now).total_seconds() == min(max(seconds / 8, 10), 300)


@pytest.mark.parametrize("status", OrderStatus)
def test_a_payment_is_wanted_until_the_request_is_paid_or_its_payout_has_ended(payment_intents: PaymentIntents, status: OrderStatus) -> None:
    request = store_order(payment_intents.services)
    order = replace(load_order(payment_intents.services, request), status=status)
    assert rules.is_wanted(request, order) is (status not in OVER)
    assert rules.is_wanted(request, None) and not rules.is_wanted(replace(request, status=RequestStatus.PAID), None)


def test_who_is_refused_meanwhile_is_told_by_what_the_request_is_paid() -> None:
    observed = rules.RequestExecuted(Execution("01INTENT", ExecutionStatus.PENDING))
    assert "payment intent 01INTENT: wait for its end" in observed.message


def test_what_follows_the_taking_is_counted_with_it_and_only_a_wallets_code_has_more_gas(signed: PaymentIntent) -> None:
    made = stages.take_call(signed)

    def of(step: str, **of_wallet: Agreed[bool]) -> tuple[Use, int, int | None, bool]:
        call = stages.call_of(signed, step, made, **of_wallet)
        assert (call.key, call.network, call.account_id) == (f"permit/{signed.intent_id}/{step}", "base", "acct")
        return call.use, call.prepays, call.gas_limit, call.runs_foreign_code

    assert of("permit") == (Use.ORDINARY, 0, 200_000, False)
    assert of("take") == (Use.ORDINARY, 450_000, 500_000, False)
    assert of("take", is_contract=Agreed(True)) == (Use.ORDINARY, 450_000, 200_000 + signature_gas("base"), True)
    assert of("permit", is_contract=Agreed(True)) == (Use.ORDINARY, 0, 200_000 + signature_gas("base"), True), "tokens ask it, too"
    assert of("approve/1") == (Use.PREPAID, 0, 150_000, False)
    assert of("spend/2") == (Use.PREPAID, 0, 600_000, False)


def test_what_the_payer_can_make_revert_is_the_payers_and_says_what_it_takes(signed: PaymentIntent) -> None:
    made = stages.take_call(signed)
    take, permit, spend = (stages.call_of(signed, step, made) for step in ("take", "permit", "spend/1"))
    assert (take.payers, permit.payers, spend.payers) == ((signed.payer,), (signed.payer,), ())
    spender = address_of(PERMIT2, "base")
    assert take.takes == Taking(signed.payer, signed.permit.source.token, spender, signed.taking)
    assert (permit.takes, spend.takes) == (None, None)


def test_what_is_taken_is_moved_in_and_all_of_it_out_for_the_payment_alone(signed: PaymentIntent) -> None:
    owner, token = f"permit/{signed.intent_id}", signed.permit.source.token
    made = stages.take_call(signed)
    steps = ("take", "spend/1", "spend/2", "approve/1", "permit")
    moved_in, moved_out, again, *others = (stages.call_of(signed, step, made).moves for step in steps)
    assert moved_in == Move(owner, token, signed.taking, True)
    assert moved_out == again == Move(owner, token, signed.taking, False)
    assert others == [None, None]
