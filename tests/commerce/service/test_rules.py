"""Decisions about the operations of commerce payments: who pays, what is refused, and when a payment is looked at."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.addresses import address_bytes
from chalicelib.base.errors import Conflict, Forbidden, ValidationFailed
from chalicelib.base.money import BaseUnits
from chalicelib.commerce.core.expiry import has_expired
from chalicelib.commerce.core.records import Collector, CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.core.rules import Refusal
from chalicelib.commerce.service import rules
from chalicelib.commerce.service.rules import Asked
from chalicelib.platform.access.modes import Mode
from chalicelib.relayer.rules import SENT_BEFORE
from tests.fakes.commerce import BUYER, OTHER, new_payment
from tests.fakes.escrows import CONTRACTS
from tests.fakes.world import PAYEE, START

FEES = "0x" + "9" * 40
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def payment(**changes: Any) -> CommercePayment:
    """A payment without operations: authorized within 10 days, captured within 20, refunded within 30."""
    expiries = {
        "pre_approval_expiry": START + 10 * DAY,
        "authorization_expiry": START + 20 * DAY,
        "refund_expiry": START + 30 * DAY,
    }
    return new_payment(START, **{**expiries, **changes})


def pending(kind: OperationKind, submitted_at: datetime = START) -> PendingOperation:
    return PendingOperation(1, kind, BaseUnits(10), submitted_at)


OPEN = {"authorized": BaseUnits(100)}
CAPTURED = {"authorized": BaseUnits(100), "captured": BaseUnits(100)}


@pytest.mark.parametrize(
    ("changes", "sent", "payer"),
    [
        ({}, None, BUYER),
        ({}, BUYER, BUYER),
        ({"buyer": None}, OTHER, OTHER),
        ({"buyer": None, "pre_approved_by": (OTHER, BUYER)}, None, BUYER),
        ({"buyer": None, "pre_approved_by": (BUYER,)}, OTHER, OTHER),
        ({"buyer": None, "payer": OTHER, "pre_approved_by": (BUYER,)}, None, OTHER),
    ],
)
def test_the_wallet_that_pays_is_the_buyer_the_one_named_or_the_last_that_approved(
    changes: dict[str, Any], sent: str | None, payer: str
) -> None:
    made = new_payment(START, **{key: value for key, value in changes.items() if key != "payer"})
    made = replace(made, payer=changes.get("payer", made.payer))
    assert rules.payer_of(made, sent) == payer


@pytest.mark.parametrize(
    ("changes", "sent", "error", "says"),
    [
        ({}, OTHER, ValidationFailed, f"is not {BUYER}"),
        ({"buyer": None}, PAYEE, ValidationFailed, "is the merchant"),
        ({"buyer": None}, "0x12", ValidationFailed, "payer"),
        ({"buyer": None}, None, Conflict, "No wallet has pre-approved"),
    ],
)
def test_a_wallet_that_cannot_pay_is_refused(
    changes: dict[str, Any], sent: str | None, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        rules.payer_of(payment(**changes), sent)


def test_who_has_paid_is_known_once_the_escrow_has_money() -> None:
    assert rules.require_payer(payment(**OPEN)) == BUYER
    for without in (payment(), payment(buyer=None, **OPEN)):
        with pytest.raises(Conflict, match="has to be authorized first"):
            rules.require_payer(without)


@pytest.mark.parametrize("kind", OperationKind)
def test_a_client_id_alone_chooses_no_authorized_amount_and_neither_it_nor_a_session_a_fee(kind: OperationKind) -> None:
    collects = kind in (OperationKind.AUTHORIZE, OperationKind.CHARGE)
    for mode in Mode:
        rules.check_chosen(mode, kind, Asked())
        may_choose_amount = mode is not Mode.CLIENT_ID or not collects
        may_choose_fee = mode not in (Mode.CLIENT_ID, Mode.SESSION)
        for asked, may in (
            (Asked(1), may_choose_amount),
            (Asked(fee_bps=0), may_choose_fee),
            (Asked(fee_receiver=FEES), may_choose_fee),
        ):
            if may:
                rules.check_chosen(mode, kind, asked)
            else:
                with pytest.raises(Forbidden, match="x-api-key"):
                    rules.check_chosen(mode, kind, asked)


def test_an_authorization_has_the_amount_collector_and_signature_that_were_sent() -> None:
    sent = Asked(30, BUYER, Collector.ERC3009.value, "0xABCD")
    operation = rules.operation_of(payment(), OperationKind.AUTHORIZE, sent, {})
    assert (operation.kind, operation.amount, operation.payer) == (OperationKind.AUTHORIZE, 30, BUYER)
    assert (operation.collector, operation.signature) == (Collector.ERC3009, "abcd")
    plain = rules.operation_of(payment(), OperationKind.AUTHORIZE, Asked(), {})
    assert (plain.amount, plain.collector, plain.signature) == (None, Collector.PRE_APPROVAL, None)
    assert (plain.fee_bps, plain.fee_receiver) == (0, None)


def test_a_charge_and_a_capture_have_the_fee_that_was_sent_or_the_least_one() -> None:
    terms = payment(min_fee_bps=50, **OPEN)
    for fee, bps, receiver in (
        ({}, 50, None),
        ({"fee_bps": 0}, 0, None),
        ({"fee_bps": 250, "fee_receiver": FEES}, 250, FEES),
    ):
        captured = rules.operation_of(terms, OperationKind.CAPTURE, Asked(30, **fee), {})
        assert (captured.kind, captured.amount) == (OperationKind.CAPTURE, 30)
        charged = rules.operation_of(terms, OperationKind.CHARGE, Asked(40, **fee), {})
        assert (charged.kind, charged.amount, charged.payer) == (OperationKind.CHARGE, 40, BUYER)
        for operation in (captured, charged):
            assert (operation.fee_bps, operation.fee_receiver) == (bps, receiver)
    with pytest.raises(ValidationFailed, match="feeReceiver"):
        rules.operation_of(terms, OperationKind.CAPTURE, Asked(30, fee_receiver="0x12"), {})
    for kind in (OperationKind.CAPTURE, OperationKind.CHARGE):
        with pytest.raises(ValidationFailed, match="is the contract of AuthCaptureEscrow"):
            sent = Asked(30, BUYER, fee_bps=250, fee_receiver=CONTRACTS.escrow)
            rules.operation_of(terms, kind, sent, {address_bytes(CONTRACTS.escrow): "the contract of AuthCaptureEscrow"})


def test_a_void_has_the_merchants_reason_and_a_refund_its_amount() -> None:
    void = rules.operation_of(payment(**OPEN), OperationKind.VOID, Asked(reason="out of stock"), {})
    refund = rules.operation_of(payment(**OPEN), OperationKind.REFUND, Asked(7), {})
    assert (void.kind, void.amount, void.reason) == (OperationKind.VOID, None, "out of stock")
    assert (refund.kind, refund.amount) == (OperationKind.REFUND, 7)
    sent = Asked(7, OTHER, Collector.ERC3009.value, "0xab", 60, FEES)
    for kind in (OperationKind.VOID, OperationKind.REFUND):
        operation = rules.operation_of(payment(min_fee_bps=50, **OPEN), kind, sent, {})
        assert (operation.payer, operation.collector, operation.signature) == (None, Collector.PRE_APPROVAL, None)
        assert (operation.fee_bps, operation.fee_receiver) == (0, None)


@pytest.mark.parametrize(
    ("field", "kind", "named"),
    [
        ("amount", OperationKind.AUTHORIZE, "amount"),
        ("amount", OperationKind.CHARGE, "amount"),
        ("captureAmount", OperationKind.CAPTURE, "captureAmount"),
        ("amount", OperationKind.REFUND, "refundAmount"),
        ("feeBps", OperationKind.CAPTURE, "feeBps"),
        ("payer", OperationKind.CHARGE, "payer"),
    ],
)
def test_what_can_never_be_done_names_the_field_of_the_body(field: str, kind: OperationKind, named: str) -> None:
    with pytest.raises(ValidationFailed, match=f"{named} is wrong"):
        rules.raise_refusal(Refusal("is wrong", True, field), kind)
    for refusal in (Refusal("not now"), Refusal("not now", False, field), Refusal("not now", True)):
        with pytest.raises(Conflict, match="^not now$"):
            rules.raise_refusal(refusal, kind)


def test_a_refund_takes_at_most_what_the_merchant_has_received_and_not_given_back() -> None:
    totals = {"captured": BaseUnits(100), "fees": BaseUnits(20)}
    assert rules.most_returned(payment(**totals)) == 80
    assert rules.most_returned(payment(refunded=BaseUnits(79), **totals)) == 1
    assert rules.most_returned(payment(refunded=BaseUnits(90), **totals)) == 0, "the merchant has paid the fee, too"


@pytest.mark.parametrize(
    ("kind", "expiry"),
    [
        (OperationKind.AUTHORIZE, START + 10 * DAY - SENT_BEFORE),
        (OperationKind.CHARGE, START + 10 * DAY - SENT_BEFORE),
        (OperationKind.CAPTURE, START + 20 * DAY),
        (OperationKind.REFUND, START + 30 * DAY - 5 * MINUTE),
    ],
)
def test_an_operation_is_given_up_at_the_second_of_its_expiry_or_before_its_block_or_an_hour_after_it_was_asked_for(
    kind: OperationKind, expiry: datetime
) -> None:
    late = pending(kind, expiry - MINUTE)
    assert [rules.gives_up(payment(), late, at) for at in (expiry - SECOND, expiry)] == [False, True]
    early = pending(kind)
    assert [rules.gives_up(payment(), early, START + age) for age in (HOUR - SECOND, HOUR)] == [False, True]


def test_a_void_is_given_up_after_an_hour_whatever_has_expired() -> None:
    after_all = START + 40 * DAY
    void = pending(OperationKind.VOID, after_all)
    assert [rules.gives_up(payment(), void, after_all + age) for age in (HOUR - SECOND, HOUR)] == [False, True]


@pytest.mark.parametrize(
    ("age", "delay"),
    [(timedelta(0), 5), (49 * SECOND, 5), (100 * SECOND, 10), (HOUR, 360), (10 * HOUR, 3600), (2 * DAY, 3600)],
)
def test_a_pending_operation_is_looked_at_after_a_tenth_of_its_age(age: timedelta, delay: int) -> None:
    looked_at = rules.postpone_check(payment(pending=pending(OperationKind.VOID)), START + age)
    assert looked_at.check_at == START + age + timedelta(seconds=delay)


APPROVED = {"pre_approved_by": (BUYER,)}


@pytest.mark.parametrize(
    ("changes", "is_collected"),
    [
        (APPROVED, True),
        ({}, False),
        ({**APPROVED, "is_service_operator": False}, False),
        ({**APPROVED, "pending": pending(OperationKind.AUTHORIZE)}, False),
        ({**APPROVED, **OPEN}, False),
    ],
)
def test_the_service_itself_takes_what_was_pre_approved_once_and_in_time(
    changes: dict[str, Any], is_collected: bool
) -> None:
    approved = payment(**changes)
    assert rules.may_collect(approved, START) is is_collected
    too_late = approved.pre_approval_expiry - SENT_BEFORE
    assert rules.may_collect(approved, too_late - SECOND) is is_collected
    assert not rules.may_collect(approved, too_late)


@pytest.mark.parametrize(("changes", "expiry"), [({}, START + 10 * DAY), (OPEN, START + 20 * DAY), (CAPTURED, None)])
def test_the_time_is_over_from_the_second_of_the_expiry_of_what_may_come_next(
    changes: dict[str, Any], expiry: datetime | None
) -> None:
    of = payment(**changes)
    for instant in (of.pre_approval_expiry, of.authorization_expiry, of.refund_expiry):
        for at in (instant - SECOND, instant):
            assert has_expired(of, at) is (expiry is not None and at >= expiry)


@pytest.mark.parametrize(
    ("changes", "now", "after"),
    [
        ({}, START, DAY),
        ({}, START + 10 * DAY - HOUR, HOUR),
        ({}, START + 10 * DAY, None),
        (APPROVED, START, MINUTE),
        (APPROVED, START + HOUR, 3 * MINUTE),
        (APPROVED, START + 5 * DAY, HOUR),
        (APPROVED, START + 10 * DAY - SECOND, SECOND),
        (APPROVED, START + 10 * DAY, None),
        (OPEN, START, DAY),
        (OPEN, START + 20 * DAY - HOUR, HOUR),
        (OPEN, START + 20 * DAY, DAY),
        (OPEN, START + 40 * DAY, DAY),
        (CAPTURED, START, DAY),
        (CAPTURED, START + 30 * DAY - SECOND, DAY),
        (CAPTURED, START + 30 * DAY, None),
        ({**CAPTURED, "refunded": BaseUnits(100)}, START, None),
        ({"authorized": BaseUnits(100), "voided": BaseUnits(100)}, START, None),
    ],
)
def test_a_payment_is_looked_at_at_its_expiry_daily_while_it_is_open_and_never_after_its_end(
    changes: dict[str, Any], now: datetime, after: timedelta | None
) -> None:
    assert rules.next_look(payment(**changes), now) == (None if after is None else now + after)


def test_only_what_the_services_own_account_operates_is_executed() -> None:
    rules.check_executes(payment(), OperationKind.VOID)
    with pytest.raises(Conflict, match="/void/calldata"):
        rules.check_executes(payment(is_service_operator=False), OperationKind.VOID)


def test_one_base_unit_that_is_held_is_looked_at_and_expires() -> None:
    authorized = payment(authorized=BaseUnits(1))
    assert rules.next_look(authorized, authorized.authorization_expiry - HOUR) == authorized.authorization_expiry
    assert has_expired(authorized, authorized.authorization_expiry)
