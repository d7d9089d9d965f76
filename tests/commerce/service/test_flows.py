"""Commerce payments from their creation to their end, with exact balances, on an escrow in memory."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict, NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.wallets import erc6492
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.records import CommercePayment, EscrowEntry, OperationKind
from chalicelib.commerce.core.rules import status_of
from chalicelib.commerce.service import due_payments, flows, store
from chalicelib.commerce.service.payer_calls import pre_approval_of, reclaim_of
from chalicelib.commerce.service.rules import Asked
from chalicelib.commerce.service.terms import commerce_facts
from chalicelib.payments.links.errors import WrongWallet
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.relayer.records import Reverts
from chalicelib.relayer.reverts import payer_name
from tests.fakes.escrows import AMOUNT, CONTRACTS, FEES, HAD, OPERATOR, PAYER, Commerce, check_conserved
from tests.fakes.world import PAYEE

A, C, V, R = OperationKind.AUTHORIZE, OperationKind.CAPTURE, OperationKind.VOID, OperationKind.REFUND


@pytest.fixture
def commerce() -> Commerce:
    return Commerce()


def sums(commerce: Commerce, created: Any) -> tuple[int, ...]:
    payment = commerce.load(created)
    return (
        payment.authorized, payment.captured, payment.voided, payment.reclaimed, payment.capturable, payment.refunded,
    )  # fmt: skip


def test_authorize_capture_refund_and_void_move_exactly_what_they_say(commerce: Commerce) -> None:
    created = commerce.create()
    commerce.pre_approve(created)
    done = commerce.authorize(created)
    assert done.transaction_hash is not None and done.kind is A
    commerce.settle(2)
    assert sums(commerce, created) == (AMOUNT, 0, 0, 0, AMOUNT, 0)
    assert commerce.balance(CONTRACTS.escrow) == AMOUNT

    commerce.capture(created, 60_000_000, 250)
    commerce.settle(2)
    assert (commerce.balance(PAYEE), commerce.balance(FEES)) == (58_500_000, 1_500_000)
    assert sums(commerce, created) == (AMOUNT, 60_000_000, 0, 0, 40_000_000, 0)

    commerce.allow(PAYEE, OPERATOR, 10_000_000)
    commerce.refund(created, 10_000_000)
    commerce.settle(6)
    assert sums(commerce, created) == (AMOUNT, 60_000_000, 0, 0, 40_000_000, 10_000_000)
    commerce.void(created)
    commerce.settle(2)
    assert sums(commerce, created) == (AMOUNT, 60_000_000, 40_000_000, 0, 0, 10_000_000)
    assert commerce.balance(PAYER) == HAD - 50_000_000 and commerce.balance(PAYEE) == 48_500_000
    assert commerce.made == {
        **dict.fromkeys(("preApprove", "authorize", "capture", "refund", "void", "transferFrom"), 1), "approve": 2,
    }  # fmt: skip
    check_conserved(commerce)


def test_what_a_payer_has_pre_approved_is_authorized_without_being_asked_for(commerce: Commerce) -> None:
    created = commerce.create()
    commerce.pre_approve(created)
    commerce.settle(4)
    assert sums(commerce, created)[0] == AMOUNT and commerce.made["authorize"] == 1


def test_of_many_events_the_last_ones_are_shown(commerce: Commerce) -> None:
    created = commerce.create()
    payment = commerce.load(created)
    for number in range(store.MOST_ENTRIES + 5):
        place = (payment.request_id, number, f"0x{number:064x}", f"0x{number:064x}", "1", 0)
        commerce.services.store.write(EscrowEntry(*place, EscrowEventKind.CAPTURED, BaseUnits(1), payment.created_at))
    shown = flows.find(commerce.services, commerce.owner(), payment.request_id).entries
    assert [each.block_number for each in shown] == list(range(5, store.MOST_ENTRIES + 5))


def test_a_charge_authorizes_and_captures_at_once(commerce: Commerce) -> None:
    created = commerce.create()
    commerce.pre_approve(created)
    commerce.execute(created, OperationKind.CHARGE, Asked(fee_bps=250, fee_receiver=FEES))
    commerce.settle(2)
    assert (commerce.balance(PAYEE), commerce.balance(FEES)) == (97_500_000, 2_500_000)
    assert sums(commerce, created) == (AMOUNT, AMOUNT, 0, 0, 0, 0)
    check_conserved(commerce)


def test_any_wallet_may_pay_without_a_buyer_and_the_first_one_that_does_is_the_payer(commerce: Commerce) -> None:
    created = commerce.create(buyer_address=None)
    assert created.options is None and created.payment.payment_hash is None
    stranger = "0x" + "77" * 20
    for wallet in (stranger, PAYER, PAYER):
        link = replace(created.link, commerce=commerce.load(created))
        made = pre_approval_of(commerce.services, link, wallet)
    commerce.allow(PAYER, CONTRACTS.pre_approval, AMOUNT)
    commerce.send(PAYER, made.transaction)
    commerce.settle(4)
    payment = commerce.load(created)
    assert payment.authorized == AMOUNT and payment.payer is not None and payment.payer.lower() == PAYER.lower()


def test_strangers_without_tokens_do_not_keep_an_open_payment_from_its_payer(commerce: Commerce) -> None:
    created = commerce.create(buyer_address=None)
    strangers = ["0x" + f"{number:02x}" * 20 for number in range(1, 61)]
    for wallet in (*strangers[:30], PAYER, *strangers[30:]):
        link = replace(created.link, commerce=commerce.load(created))
        commerce.send(wallet, pre_approval_of(commerce.services, link, wallet).transaction)
    commerce.allow(PAYER, CONTRACTS.pre_approval, AMOUNT)
    commerce.settle(3)
    payment = commerce.load(created)
    assert payment.authorized == AMOUNT and payment.payer is not None and payment.payer.lower() == PAYER.lower()
    assert payment.operations == 1, "no other wallet was tried"


def pre_approve_open(commerce: Commerce, created: Any, wallet: str) -> None:
    link = replace(created.link, commerce=commerce.load(created))
    commerce.allow(wallet, CONTRACTS.pre_approval, AMOUNT)
    commerce.send(wallet, pre_approval_of(commerce.services, link, wallet).transaction)


@pytest.mark.parametrize("kind", [A, OperationKind.CHARGE])
def test_what_its_payer_may_be_too_late_for_before_its_block_is_not_taken(commerce: Commerce, kind: OperationKind) -> None:
    """The merchant chooses when: the call would be reverted, and delay the payer's others by a day."""
    created = commerce.create()
    commerce.pre_approve(created)
    last = commerce.load(created).pre_approval_expiry - timedelta(seconds=30)
    commerce.world.now = last
    with pytest.raises(Conflict, match="less than 30 seconds are left in which the escrow takes it"):
        commerce.execute(created, kind, Asked())
    assert commerce.load(created).operations == 0 and not commerce.chain.mempool.sent
    commerce.world.now = last - timedelta(seconds=1)
    assert commerce.execute(created, kind, Asked()).kind is kind


def test_an_authorization_that_could_not_be_sent_in_time_goes_back_before_its_block_may_be_too_late(
    commerce: Commerce,
) -> None:
    created = commerce.create()
    commerce.pre_approve(created)
    expiry = commerce.load(created).pre_approval_expiry
    commerce.world.now = expiry - timedelta(minutes=10)
    commerce.chain.mempool.balance = 0
    commerce.execute(created, A, Asked())
    assert commerce.load(created).pending is not None
    commerce.chain.mempool.balance = 10**21
    commerce.world.now = expiry - timedelta(seconds=30)
    due_payments.run_due(commerce.services)
    assert commerce.load(created).pending is None and not commerce.chain.mempool.sent


def test_a_wallet_whose_calls_wait_for_a_day_keeps_nobody_from_paying_what_any_wallet_may_pay(commerce: Commerce) -> None:
    """It has the tokens, and a call for it was reverted: it pre-approves, and anybody names it with a client id."""
    now, cheat = commerce.world.now, "0x" + "77" * 20
    reverts = Reverts("sepolia", payer_name(cheat), 1, now, until=now + timedelta(days=1))
    commerce.services.store.write(reverts)
    commerce.balances[cheat] = AMOUNT
    created = commerce.create(buyer_address=None)
    pre_approve_open(commerce, created, cheat)
    commerce.settle(3)
    with pytest.raises(Conflict, match="nothing was sent: the last call for this payer was reverted"):
        commerce.execute(created, A, Asked(payer=cheat))
    assert commerce.load(created).operations == 0
    pre_approve_open(commerce, created, PAYER)
    pre_approve_open(commerce, created, cheat)
    commerce.settle(3)
    payment = commerce.load(created)
    assert payment.authorized == AMOUNT and payment.payer is not None and payment.payer.lower() == PAYER.lower()
    assert payment.operations == 1


def test_of_open_payments_that_one_wallet_pays_one_after_the_other_none_waits_for_another_wallets(commerce: Commerce) -> None:
    """One wallet with the tokens for one of six, which it has pre-approved all: its call is open, or it has no more."""
    cheat = "0x" + "77" * 20
    commerce.balances[cheat] = AMOUNT
    several = [commerce.create(buyer_address=None) for _ in range(6)]
    for created in several:
        pre_approve_open(commerce, created, PAYER)
        pre_approve_open(commerce, created, cheat)
        commerce.allow(PAYER, CONTRACTS.pre_approval, HAD)
    commerce.chain.mempool.holds = True
    commerce.settle(2)
    assert sum(commerce.load(each).pending is not None for each in several) == 2, "one of each wallet"
    commerce.chain.mempool.holds = False
    commerce.settle(16)
    assert [commerce.load(each).authorized for each in several] == [AMOUNT] * 6


def hide_logs(commerce: Commerce, minutes: int = 3) -> None:
    """The node lists no logs of what happens in these minutes, and has them later."""
    commerce.chain.hides_logs = True
    commerce.settle(minutes)
    commerce.chain.hides_logs = False
    commerce.settle(4)


def test_what_one_wallet_has_paid_no_other_pays_while_a_node_withholds_the_event(commerce: Commerce) -> None:
    other = "0x" + "77" * 20
    commerce.balances[other] = AMOUNT
    created = commerce.create(buyer_address=None)
    for wallet in (other, PAYER):
        pre_approve_open(commerce, created, wallet)
    commerce.world.scan()
    hide_logs(commerce)
    assert commerce.made["authorize"] == 1 and commerce.load(created).pending is not None
    commerce.settle(12)
    payment = commerce.load(created)
    assert (payment.authorized, payment.pending, commerce.made["authorize"]) == (AMOUNT, None, 1)
    assert commerce.balance(other) == AMOUNT and commerce.balance(PAYER) == HAD - AMOUNT


@pytest.mark.parametrize(("kind", "minutes"), [(C, 3), (R, 7)])
def test_what_was_captured_or_refunded_is_not_again_while_a_node_withholds_the_event(
    commerce: Commerce, kind: OperationKind, minutes: int
) -> None:
    created = commerce.captured(60_000_000, 0)
    commerce.allow(PAYEE, OPERATOR, AMOUNT)
    made, asked = commerce.made[kind.value], Asked(10_000_000)
    commerce.execute(created, kind, asked)
    hide_logs(commerce, minutes)
    assert commerce.made[kind.value] == made + 1
    again = commerce.execute(created, kind, asked)
    assert again == commerce.load(created).pending, "it is the same operation"
    commerce.settle(14)
    payment = commerce.load(created)
    assert (payment.pending, payment.failure, commerce.made[kind.value]) == (None, None, made + 1)
    assert (payment.captured, payment.refunded) == ((70_000_000, 0) if kind is C else (60_000_000, 10_000_000))


def test_the_payer_takes_back_what_is_held_once_the_authorization_has_expired(commerce: Commerce) -> None:
    created = commerce.authorized()
    request_id = created.payment.request_id
    with pytest.raises(Conflict, match="from the authorization's expiry on"):
        flows.reclaim(commerce.services, commerce.owner(), request_id)
    commerce.world.now = created.payment.authorization_expiry
    with pytest.raises(Conflict, match="has expired"):
        commerce.capture(created, 1)
    made = flows.reclaim(commerce.services, commerce.owner(), request_id)
    assert made.sender == PAYER
    commerce.send(PAYER, *made.transactions)
    commerce.settle(2)
    assert sums(commerce, created) == (AMOUNT, 0, 0, AMOUNT, 0, 0) and commerce.balance(PAYER) == HAD


def test_the_wallet_that_has_paid_and_no_other_gets_what_takes_it_back_and_not_before_the_exact_second(
    commerce: Commerce,
) -> None:
    created = commerce.create()
    with pytest.raises(Conflict, match="Nothing was put into the escrow"):
        reclaim_of(commerce.services, commerce.load(created), PAYER)
    created = commerce.authorized()
    payment = commerce.load(created)
    commerce.world.now = payment.authorization_expiry - timedelta(seconds=1)
    with pytest.raises(WrongWallet, match="has paid") as refused:
        reclaim_of(commerce.services, payment, PAYEE)
    assert refused.value.creator_wallet == PAYER
    with pytest.raises(Conflict, match="from the authorization's expiry on"):
        reclaim_of(commerce.services, payment, PAYER)
    commerce.world.now = payment.authorization_expiry
    made = reclaim_of(commerce.services, payment, PAYER.lower())
    commerce.send(PAYER, made.transaction)
    commerce.settle(2)
    assert commerce.balance(PAYER) == HAD
    with pytest.raises(Conflict, match="Nothing is held"):
        reclaim_of(commerce.services, commerce.load(created), PAYER)


@pytest.mark.parametrize("method", ["preApproval", "erc3009", "permit2"])
@pytest.mark.parametrize("kind", [A, OperationKind.CHARGE])
def test_what_would_not_take_the_payers_tokens_is_refused_before_anything_is_reserved(
    commerce: Commerce, kind: OperationKind, method: str
) -> None:
    """Also while the service could not send anything, when what is reserved waits, and the payer's own would, too."""
    created = commerce.create()
    commerce.chain.mempool.base_fee = 10**15
    wanted = Asked(method=method, signature=None if method == "preApproval" else "0x" + "5a" * 65)
    before = commerce.services.store.all(CommercePayment)
    with pytest.raises(Conflict, match="nothing was sent: PaymentNotPreApproved"):
        commerce.execute(created, kind, wanted)
    commerce.chain.is_down = True
    with pytest.raises(ChainUnavailable):
        commerce.execute(created, kind, wanted)
    commerce.chain.is_down = False
    assert commerce.services.store.all(CommercePayment) == before
    commerce.pre_approve(created)
    commerce.chain.mempool.base_fee = 10**9
    assert commerce.authorize(created).transaction_hash is not None


@pytest.mark.parametrize("kind", [A, OperationKind.CHARGE])
def test_a_wallet_is_deployed_by_a_signature_only_if_its_factory_is_listed(commerce: Commerce, kind: OperationKind) -> None:
    """Before any node runs the call: what a stranger's factory does is paid for by the service."""
    created, factory = commerce.create(), "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67"
    signature = erc6492.wrap(factory, b"\x12", b"\x01" * 65)
    wanted = Asked(method="erc3009", signature="0x" + signature.hex())
    run = list[Any]()
    commerce.chain.mempool.dry_run = lambda to, data: run.append(to) or "ran"
    for listed in ((), (PAYEE,)):
        settings = replace(commerce.services.settings, relayer_wallet_factories=listed)
        with pytest.raises(Conflict, match="not deployed yet"):
            commerce.execute(created, kind, wanted, replace(commerce.services, settings=settings))
    assert run == [] and commerce.load(created).pending is None
    settings = replace(commerce.services.settings, relayer_wallet_factories=(factory,))
    with pytest.raises(Conflict, match="nothing was sent: ran"):
        commerce.execute(created, kind, wanted, replace(commerce.services, settings=settings))


@pytest.mark.parametrize(
    ("balance", "allowance", "code"),
    [(AMOUNT - 1, AMOUNT, "balance"), (HAD, AMOUNT - 1, "allowance"), (HAD, AMOUNT, "other"), (HAD, AMOUNT, None)],
)
def test_a_payer_sees_why_the_tokens_could_not_be_taken_until_they_are(
    commerce: Commerce, balance: int, allowance: int, code: str | None
) -> None:
    created = commerce.create()
    commerce.pre_approve(created)
    commerce.balances[PAYER.lower()] = balance
    commerce.allow(PAYER, CONTRACTS.pre_approval, allowance)
    reasons = {"balance": "the balance of the token is too small", "allowance": "the token's allowance is too small"}
    if code is not None:
        commerce.refuses["authorize"] = reasons.get(code, "<b>pay 0xbad instead</b>")
    commerce.settle(3)

    def notified() -> Any:
        payment = commerce.load(created)
        return commerce_facts(payment, status_of(payment, None)).failure

    shown = notified()
    assert (shown and (shown.wallet, shown.reason)) == (code and (PAYER, code))
    commerce.refuses.clear()
    commerce.balances[PAYER.lower()] = HAD
    commerce.allow(PAYER, CONTRACTS.pre_approval, AMOUNT)
    commerce.settle(6)
    assert commerce.load(created).authorized == AMOUNT and notified() is None


def test_pressed_twice_is_one_operation_and_another_one_has_to_wait(commerce: Commerce) -> None:
    created = commerce.authorized()
    first = commerce.capture(created, 10)
    assert commerce.capture(created, 10) == first
    with pytest.raises(Conflict, match="pending"):
        commerce.capture(created, 11)
    with pytest.raises(Conflict, match="pending"):
        commerce.void(created)
    commerce.services.store.write(replace(commerce.load(created), pending=replace(first, transaction_hash=None)))
    assert commerce.capture(created, 10) == first, "also if whoever has sent it could not note its hash"
    commerce.settle(2)
    assert sums(commerce, created)[1] == 10 and commerce.made["capture"] == 1


@pytest.mark.parametrize(
    ("kind", "wanted", "error", "says"),
    [
        (C, Asked(AMOUNT + 1), BadRequest, "captureAmount must be from 1 to what is held, 100000000"),
        (C, Asked(1, fee_bps=1), BadRequest, "feeReceiver is missing"),
        (C, Asked(1, fee_bps=10_001, fee_receiver=FEES), BadRequest, "feeBps must be from 0 to 10000"),
        (R, Asked(1), Conflict, "Nothing was captured"),
        (A, Asked(), Conflict, "was authorized before"),
    ],
)
def test_what_the_payment_refuses_is_not_sent(
    commerce: Commerce, kind: OperationKind, wanted: Asked, error: type[Exception], says: str
) -> None:
    created = commerce.authorized()
    sent, before = len(commerce.chain.mempool.sent), commerce.load(created)
    with pytest.raises(error, match=says):
        commerce.execute(created, kind, wanted)
    assert len(commerce.chain.mempool.sent) == sent and commerce.load(created) == before


def test_nothing_is_voided_after_a_full_capture_and_no_more_refunded_than_captured(commerce: Commerce) -> None:
    created = commerce.captured(AMOUNT, 0)
    with pytest.raises(Conflict, match="Nothing is held"):
        commerce.void(created)
    with pytest.raises(BadRequest, match="refundAmount must be from 1 to what was captured"):
        commerce.refund(created, AMOUNT + 1)


def test_a_refund_needs_the_merchants_allowance_and_takes_no_fees_back(commerce: Commerce) -> None:
    created = commerce.captured(60_000_000, 250)
    with pytest.raises(Conflict, match="has allowed 0 base units"):
        commerce.refund(created, 1)
    commerce.allow(PAYEE, OPERATOR, HAD)
    with pytest.raises(Conflict, match="has received 58500000 base units"):
        commerce.refund(created, 58_500_001)
    commerce.refund(created, 58_500_000)
    commerce.settle(6)
    assert commerce.balance(PAYEE) == 0
    check_conserved(commerce)


@pytest.mark.parametrize("trouble", ["refuses", "fails"])
def test_a_refund_that_cannot_be_made_gives_the_merchant_the_tokens_back_once(commerce: Commerce, trouble: str) -> None:
    created = commerce.captured()
    commerce.allow(PAYEE, OPERATOR, 10_000_000)
    if trouble == "refuses":
        commerce.refuses["refund"] = "RefundExceedsCapture"
    else:
        commerce.fails.add("refund")
    commerce.refund(created, 10_000_000)
    commerce.settle(45)
    payment = commerce.load(created)
    assert payment.pending is None and payment.refunded == 0 and "has the tokens back" in str(payment.failure)
    assert commerce.balance(PAYEE) == 58_500_000 and commerce.made["transfer"] == 1
    check_conserved(commerce)


@pytest.mark.parametrize("trouble", ["refuses", "fails"])
def test_an_operation_that_the_chain_refuses_goes_back_with_the_reason(commerce: Commerce, trouble: str) -> None:
    created = commerce.authorized()
    if trouble == "refuses":
        commerce.refuses["capture"] = "the token is paused"
        with pytest.raises(Conflict, match="the token is paused"):
            commerce.capture(created, 10)
    else:
        commerce.fails.add("capture")
        commerce.capture(created, 10)
        commerce.settle(2)
    payment = commerce.load(created)
    assert payment.pending is None and payment.failure is not None and payment.captured == 0
    commerce.fails.clear()
    commerce.refuses.clear()
    commerce.capture(created, 10)
    commerce.settle(2)
    assert commerce.load(created).captured == 10


def test_only_a_call_that_is_not_accepted_is_logged(commerce: Commerce, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[tuple[str, Any]]()
    monkeypatch.setattr(commerce.services.log, "warning", lambda message, extra: said.append((message, extra)))
    created = commerce.authorized()
    assert said == []
    commerce.refuses["void"] = "the token is paused"
    with pytest.raises(Conflict):
        commerce.void(created)
    ((message, facts),) = said
    assert (message, facts["payable"], facts["network"]) == ("commerce call refused", created.payment.payable_id, "sepolia")
    assert "the token is paused" in facts["reason"]


def test_an_operation_whose_nonce_another_transaction_took_goes_back_and_says_so(commerce: Commerce) -> None:
    created = commerce.authorized()
    commerce.chain.mempool.holds = True
    commerce.capture(created, 10)
    commerce.chain.mempool.waiting.clear()
    commerce.chain.mempool.steal_nonce(OPERATOR)
    commerce.chain.mempool.holds = False
    commerce.settle(25)
    payment = commerce.load(created)
    assert (payment.pending, payment.captured) == (None, 0)
    assert "another transaction" in str(payment.failure)


def test_an_operator_with_its_own_wallet_sends_the_transactions_itself(commerce: Commerce) -> None:
    wallet = "0x" + "0b" * 20
    created = flows.create(commerce.services, commerce.owner(operator_wallet=wallet), commerce.draft())
    assert created.payment.operator == wallet
    commerce.pre_approve(created)
    with pytest.raises(Conflict, match="/authorize/calldata"):
        commerce.authorize(created)

    def send(kind: OperationKind, asked: Asked) -> None:
        made = flows.to_send(commerce.services, commerce.owner(), created.payment.request_id, kind, asked)
        assert made.sender == wallet
        commerce.send(wallet, *made.transactions)
        commerce.settle(2)

    send(A, Asked())
    send(C, Asked(60_000_000, fee_bps=100, fee_receiver=FEES))
    commerce.send(PAYEE, erc20.transfer(commerce.token, wallet, 10))
    send(R, Asked(10))
    assert sums(commerce, created) == (AMOUNT, 60_000_000, 0, 0, 40_000_000, 10)
    assert commerce.made["refund"] == 1


def test_the_payment_of_another_account_or_client_id_is_not_found(commerce: Commerce) -> None:
    created = commerce.create()
    for owner in (Owner("other", None, None), Owner("acct", "cli_other", None)):
        owned = replace(created.payment, client_id="cli_shop", version=1)
        commerce.services.store.write(owned) if owner.client_id and created.payment.client_id is None else None
        with pytest.raises(NotFound):
            flows.find(commerce.services, owner, created.payment.request_id)


def test_the_clients_expiries_come_before_those_of_the_body_and_its_fee_is_the_highest(commerce: Commerce) -> None:
    settings = ClientSettings("2.5", FEES, pre_approval_seconds=3600, authorization_seconds=7200)
    owner = replace(commerce.owner(), settings=settings)
    later = int((commerce.world.now + timedelta(days=3)).timestamp())
    draft = commerce.draft(pre_approval_expiry=later, max_fee_bps=9_000, fee_receiver=PAYER)
    payment = flows.create(commerce.services, owner, draft).payment
    assert payment.pre_approval_expiry == commerce.world.now + timedelta(hours=1)
    assert payment.authorization_expiry == commerce.world.now + timedelta(hours=3)
    assert payment.refund_expiry == commerce.world.now + timedelta(hours=3, days=60)
    assert (payment.min_fee_bps, payment.max_fee_bps, payment.fee_receiver) == (0, 250, FEES)


def test_on_a_network_without_the_escrow_those_are_named_that_have_it(commerce: Commerce) -> None:
    with pytest.raises(BadRequest, match="is on base and sepolia"):
        commerce.create(currency="USDC-mainnet")


def test_without_an_operator_the_answer_says_what_to_set() -> None:
    with pytest.raises(BadRequest, match="ask whoever runs this service"):
        Commerce(relayer_keys={}).create()


def test_what_went_back_to_the_payer_is_the_sum_of_what_was_voided_reclaimed_and_refunded(commerce: Commerce) -> None:
    sums = {"authorized": 100, "captured": 60, "voided": 30, "reclaimed": 4, "refunded": 20}
    payment = replace(commerce.create().payment, **{name: BaseUnits(units * 10**6) for name, units in sums.items()})
    facts = commerce_facts(payment, status_of(payment, None))
    assert (facts.heldAmount, facts.capturedAmount, facts.returnedAmount) == ("6", "60", "54")
    assert int(facts.salt) == int.from_bytes(bytes.fromhex(payment.salt)), "as a decimal number"


def test_nothing_is_reserved_once_the_services_account_is_not_the_operator_any_more(commerce: Commerce) -> None:
    created = commerce.authorized()
    commerce.services.store.write(replace(commerce.load(created), operator=FEES))
    with pytest.raises(Conflict, match=f"is not the operator {FEES} any more"):
        commerce.capture(created, 10)
    assert commerce.load(created).pending is None
