"""Commerce payments: every operation in every state as the contract has it, two phases, and the second of each expiry."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.commerce.core import ledger, rules
from chalicelib.commerce.core.expiry import can_reclaim
from chalicelib.commerce.core.records import (
    Collector,
    CommercePayment,
    EntryState,
    EscrowEntry,
    OperationKind,
    PendingOperation,
)
from chalicelib.commerce.core.rules import CommerceStatus, Operation, Refusal
from tests.commerce.core.contract_model import AFTER_ALL, Asked, Contract, status
from tests.fakes.commerce import BUYER, OTHER, new_payment
from tests.fakes.world import START

DEPTH = 6
FEES = "0x" + "9" * 40
PAYMENT = new_payment(START)
SECOND = timedelta(seconds=1)
INSTANTS = (
    PAYMENT.pre_approval_expiry - SECOND,
    PAYMENT.pre_approval_expiry,
    PAYMENT.authorization_expiry,
    PAYMENT.refund_expiry,
)
"""An instant of each phase of the model; from the second on the first that is too late for what ends there."""
ASKED = (
    Asked("authorize", 100),
    Asked("authorize", 60),
    Asked("authorize", 101),
    Asked("authorize", 0),
    Asked("charge", 100),
    Asked("charge", 60, 250),
    Asked("charge", 60, 1001),
    Asked("charge", 60, 250, has_fee_receiver=False),
    Asked("capture", 40, 250),
    Asked("capture", 60),
    Asked("capture", 100, 1000),
    Asked("capture", 101),
    Asked("capture", 0),
    Asked("capture", 40, 1001),
    Asked("capture", 40, 1, has_fee_receiver=False),
    Asked("void"),
    Asked("reclaim"),
    Asked("refund", 10),
    Asked("refund", 60),
    Asked("refund", 100),
    Asked("refund", 101),
    Asked("refund", 0),
)
EVENTS = {
    "authorize": EscrowEventKind.AUTHORIZED,
    "charge": EscrowEventKind.CHARGED,
    "capture": EscrowEventKind.CAPTURED,
    "void": EscrowEventKind.VOIDED,
    "reclaim": EscrowEventKind.RECLAIMED,
    "refund": EscrowEventKind.REFUNDED,
}


def operation(asked: Asked) -> Operation:
    amount = None if asked.name == "void" else BaseUnits(asked.amount)
    receiver = FEES if asked.has_fee_receiver and asked.fee_bps else None
    return Operation(OperationKind(asked.name), amount, asked.fee_bps, receiver)


def event(asked: Asked, amount: int, number: int = 1) -> EscrowEntry:
    return EscrowEntry(
        request_id=PAYMENT.request_id,
        block_number=number,
        block_hash=f"0xb{number}",
        tx_hash=f"0xt{number}",
        event_key=f"e-{number}",
        log_index=0,
        kind=EVENTS[asked.name],
        amount=BaseUnits(amount),
        at=START,
        fee_bps=asked.fee_bps,
        payer=BUYER,
    )


def books(payment: CommercePayment) -> tuple[int, ...]:
    """The totals."""
    return payment.authorized, payment.captured, payment.voided, payment.reclaimed, payment.refunded


def moved(before: Contract, after: Contract, name: str) -> int:
    return after.moved(name) - before.moved(name)


def reachable() -> Iterator[tuple[Contract, CommercePayment]]:
    """Every state that at most DEPTH - 1 calls and lapses of time lead to, each once, with our payment in it."""
    level = {Contract(): PAYMENT}
    seen = dict(level)
    for _ in range(DEPTH - 1):
        following = dict[Contract, CommercePayment]()
        for contract, payment in level.items():
            following[contract.later()] = payment
            for asked in ASKED:
                after = contract.call(asked)
                if after is not None:
                    entry = event(asked, moved(contract, after, asked.name))
                    following[after], _ = ledger.post(payment, entry, START)
        level = {each: payment for each, payment in following.items() if each not in seen}
        seen |= level
    yield from seen.items()


STATES = list(reachable())


def test_the_model_reaches_every_status_that_is_not_a_pending_one() -> None:
    pending = {"AUTHORIZING", "CAPTURING", "VOIDING", "REFUNDING"}
    assert {status(contract) for contract, _ in STATES} == {each.value for each in CommerceStatus} - pending - {
        "FAILED"
    }
    assert len(STATES) > 100


def test_every_operation_is_refused_in_exactly_the_states_in_which_the_contract_refuses_it() -> None:
    for contract, payment in STATES:
        now = INSTANTS[contract.phase]
        for asked in ASKED:
            allowed = contract.call(asked) is not None
            if asked.name == "reclaim":
                assert can_reclaim(payment, now) is allowed, (contract, asked)
                continue
            refused = rules.refusal(payment, operation(asked), now)
            assert (refused is None) is allowed, (contract, asked, refused)
            reserved = rules.reserve(payment, operation(asked), now)
            assert isinstance(reserved, PendingOperation) if allowed else reserved == refused


def test_totals_and_status_are_those_of_the_contract_in_every_state() -> None:
    for contract, payment in STATES:
        charged = contract.moved("charge")
        of_contract = (
            contract.moved("authorize") + charged,
            contract.moved("capture") + charged,
            *(contract.moved(name) for name in ("void", "reclaim", "refund")),
        )
        assert books(payment) == of_contract
        assert (payment.is_collected, payment.capturable, payment.refundable) == (
            contract.collected,
            contract.capturable,
            contract.refundable,
        )
        assert ledger.is_state_of(payment, contract.collected, contract.capturable, contract.refundable)
        assert rules.status_of(payment, Agreed(INSTANTS[contract.phase])).value == status(contract), contract


def test_the_state_is_the_specifications_word_for_where_the_money_is_whatever_the_time_says() -> None:
    words = {"AUTHORIZED": "Authorized", "PAID": "Captured", "PARTIALLY_REFUNDED": "Captured", "REFUNDED": "Refunded"}
    words |= {"VOIDED": "Voided", "RECLAIMED": "Voided"}
    seen = set()
    for contract, payment in STATES:
        word = words.get(status(contract), "Authorized" if contract.collected else None)
        assert rules.state_of(payment) == word, contract
        seen.add(word)
    assert seen == {None, "Authorized", "Captured", "Voided", "Refunded"}


def test_flags_say_whether_all_there_is_may_be_captured_voided_and_refunded() -> None:
    for contract, payment in STATES:
        now = INSTANTS[contract.phase]
        captured = contract.call(Asked("capture", contract.capturable)) is not None
        refunded = contract.call(Asked("refund", contract.refundable)) is not None
        voided = contract.call(Asked("void")) is not None
        flags = rules.can_capture(payment, now), rules.can_void(payment), rules.can_refund(payment, now)
        assert flags == (captured, voided, refunded)


def test_a_reserved_operation_is_posted_goes_back_or_is_undone_and_nothing_else_begins_meanwhile() -> None:
    for contract, payment in STATES:
        now = INSTANTS[contract.phase]
        for asked in ASKED:
            after = contract.call(asked)
            if after is None or asked.name == "reclaim":
                continue
            reserved = rules.reserve(payment, operation(asked), now)
            assert isinstance(reserved, PendingOperation)
            pending = rules.begin_operation(payment, reserved, now)
            assert books(pending) == books(payment)
            assert rules.status_of(pending, Agreed(now)).value in ("AUTHORIZING", "CAPTURING", "VOIDING", "REFUNDING")
            _nothing_else_begins(pending, asked, reserved, now)
            back = rules.take_back_operation(pending, "It reverted", now)
            assert (back.pending, back.failure, books(back)) == (None, "It reverted", books(payment))
            entry = event(asked, moved(contract, after, asked.name))
            posted, kept = ledger.post(pending, entry, now)
            directly, _ = ledger.post(payment, entry, now)
            assert (posted.pending, kept.operation, books(posted)) == (None, reserved, books(directly))
            undone, voided = ledger.undo(posted, kept, now)
            assert (undone.pending, voided.operation, books(undone)) == (reserved, None, books(payment))


def test_an_operation_that_a_fork_undoes_while_another_is_pending_is_pending_again_before_it() -> None:
    """Of every two operations after each other, even of one kind and amount."""
    pairs = 0
    for contract, payment in STATES:
        now = INSTANTS[contract.phase]
        for first, second in ((one, other) for one in ASKED for other in ASKED):
            middle = contract.call(first)
            after = middle.call(second) if middle is not None else None
            if middle is None or after is None or "reclaim" in (first.name, second.name):
                continue
            pairs += 1
            earlier = rules.reserve(payment, operation(first), now)
            assert isinstance(earlier, PendingOperation)
            entry = event(first, moved(contract, middle, first.name))
            posted, kept = ledger.post(rules.begin_operation(payment, earlier, now), entry, now)
            later = rules.reserve(posted, operation(second), now)
            assert isinstance(later, PendingOperation)
            undone, _ = ledger.undo(rules.begin_operation(posted, later, now), kept, now)
            assert (undone.pending, undone.waiting, books(undone)) == (earlier, (later,), books(payment))
            again, kept = ledger.post(undone, entry, now)
            assert (again.pending, again.waiting, kept.operation) == (later, (), earlier)
            done, kept = ledger.post(again, event(second, moved(middle, after, second.name), 2), now)
            assert (done.pending, done.waiting, kept.operation) == (None, (), later)
            back = rules.take_back_operation(undone, "another transaction took its place", now)
            assert (back.pending, back.waiting) == (later, ())
    assert pairs > 300


def _nothing_else_begins(pending: CommercePayment, asked: Asked, reserved: PendingOperation, now: datetime) -> None:
    assert rules.reserve(pending, operation(asked), now) == reserved
    for other in ASKED:
        if other.name in ("reclaim", asked.name):
            continue
        refused = rules.reserve(pending, operation(other), now)
        assert isinstance(refused, Refusal) and not refused.is_invalid
    assert not (rules.can_capture(pending, now) or rules.can_void(pending) or rules.can_refund(pending, now))


EXPIRING = {
    "authorize": (PAYMENT.pre_approval_expiry, ()),
    "charge": (PAYMENT.pre_approval_expiry, ()),
    "capture": (PAYMENT.authorization_expiry, (Asked("authorize", 100),)),
    "refund": (PAYMENT.refund_expiry, (Asked("charge", 100),)),
}


def after_calls(*calls: Asked) -> CommercePayment:
    payment = PAYMENT
    for number, each in enumerate(calls):
        payment, _ = ledger.post(payment, event(each, each.amount, number), START)
    return payment


@pytest.mark.parametrize("name", EXPIRING)
def test_the_second_of_an_expiry_is_the_first_that_is_too_late(name: str) -> None:
    expiry, before = EXPIRING[name]
    payment, asked = after_calls(*before), operation(Asked(name, 10))
    assert rules.refusal(payment, asked, expiry - SECOND) is None
    for late in (expiry, expiry + SECOND):
        refused = rules.refusal(payment, asked, late)
        assert refused is not None and not refused.is_invalid


def test_the_payer_reclaims_from_the_second_of_the_expiry_on_and_a_void_has_no_bound() -> None:
    payment = after_calls(Asked("authorize", 100))
    expiry = payment.authorization_expiry
    assert [can_reclaim(payment, each) for each in (expiry - SECOND, expiry)] == [False, True]
    assert rules.refusal(payment, Operation(OperationKind.VOID), payment.refund_expiry + SECOND) is None


def test_nothing_expires_before_the_chain_was_read_up_to_the_second_of_the_expiry() -> None:
    authorized = after_calls(Asked("authorize", 100))
    for payment, expiry, before in (
        (PAYMENT, PAYMENT.pre_approval_expiry, CommerceStatus.PENDING),
        (authorized, authorized.authorization_expiry, CommerceStatus.AUTHORIZED),
    ):
        assert rules.status_of(payment, None) is before
        assert rules.status_of(payment, Agreed(expiry - SECOND)) is before
        assert rules.status_of(payment, Agreed(expiry)) is CommerceStatus.EXPIRED


def test_a_payment_that_was_never_authorized_has_failed_if_its_last_attempt_did() -> None:
    failed = replace(PAYMENT, failure="It reverted")
    assert rules.status_of(failed, Agreed(PAYMENT.pre_approval_expiry - SECOND)) is CommerceStatus.PENDING
    assert rules.status_of(failed, Agreed(PAYMENT.pre_approval_expiry)) is CommerceStatus.FAILED


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (Operation(OperationKind.CAPTURE, BaseUnits(101)), "captureAmount"),
        (Operation(OperationKind.CAPTURE, BaseUnits(10), 1001, FEES), "feeBps"),
        (Operation(OperationKind.CAPTURE, BaseUnits(10), 250), "feeReceiver"),
    ],
)
def test_what_can_never_be_done_is_invalid_and_names_the_field(asked: Operation, field: str) -> None:
    refused = rules.refusal(after_calls(Asked("authorize", 100)), asked, START)
    assert refused is not None and (refused.is_invalid, refused.field) == (True, field)


def test_a_fee_receiver_of_the_terms_is_the_only_one() -> None:
    payment = replace(after_calls(Asked("authorize", 100)), fee_receiver=FEES)
    for fee_bps in (0, 250):
        reserved = rules.reserve(payment, Operation(OperationKind.CAPTURE, BaseUnits(10), fee_bps), START)
        assert isinstance(reserved, PendingOperation) and reserved.fee_receiver == FEES
    refused = rules.refusal(payment, Operation(OperationKind.CAPTURE, BaseUnits(10), 250, OTHER), START)
    assert refused is not None and (refused.is_invalid, refused.field) == (True, "feeReceiver")


def test_an_open_payment_is_authorized_for_a_wallet_that_is_named_and_a_buyers_for_no_other() -> None:
    wanted = Operation(OperationKind.AUTHORIZE)
    open_payment = new_payment(START, buyer=None)
    refused = rules.refusal(open_payment, wanted, START)
    assert refused is not None and (refused.is_invalid, refused.field) == (True, "payer")
    reserved = rules.reserve(open_payment, replace(wanted, payer=OTHER), START)
    assert isinstance(reserved, PendingOperation) and reserved.payer == OTHER
    refused = rules.refusal(PAYMENT, replace(wanted, payer=OTHER), START)
    assert refused is not None and (refused.is_invalid, refused.field) == (True, "payer")


def test_a_wallet_whose_money_could_not_be_taken_is_tried_after_the_others() -> None:
    payment = new_payment(START, buyer=None, pre_approved_by=(BUYER, OTHER))
    for payer, left in ((OTHER, (OTHER, BUYER)), (BUYER, (BUYER, OTHER))):
        reserved = rules.reserve(payment, Operation(OperationKind.AUTHORIZE, payer=payment.pre_approved_by[-1]), START)
        assert isinstance(reserved, PendingOperation) and reserved.payer == payer
        payment = rules.take_back_operation(rules.begin_operation(payment, reserved, START), "It reverted", START)
        assert payment.pre_approved_by == left


def test_an_authorization_of_another_wallet_is_another_operation() -> None:
    payment, wanted = new_payment(START, buyer=None), Operation(OperationKind.AUTHORIZE, payer=OTHER)
    reserved = rules.reserve(payment, wanted, START)
    assert isinstance(reserved, PendingOperation)
    pending = rules.begin_operation(payment, reserved, START)
    assert rules.reserve(pending, replace(wanted, payer=OTHER.upper().replace("X", "x")), START) == reserved
    assert isinstance(rules.reserve(pending, replace(wanted, payer=BUYER), START), Refusal)


def test_an_authorization_by_another_signature_is_another_operation() -> None:
    payment = new_payment(START)
    signed = Operation(OperationKind.AUTHORIZE, payer=BUYER, collector=Collector.ERC3009, signature="aa" * 65)
    reserved = rules.reserve(payment, signed, START)
    assert isinstance(reserved, PendingOperation)
    pending = rules.begin_operation(payment, reserved, START)
    assert rules.reserve(pending, signed, START) == reserved
    for other in (replace(signed, signature="bb" * 65), replace(signed, collector=Collector.PERMIT2)):
        assert isinstance(rules.reserve(pending, other, START), Refusal)


def test_operations_are_numbered_and_amounts_left_out_are_all_there_is() -> None:
    payment = after_calls(Asked("authorize", 100), Asked("capture", 30))
    for kind, amount in ((OperationKind.CAPTURE, 70), (OperationKind.VOID, 70), (OperationKind.REFUND, 30)):
        reserved = rules.reserve(payment, Operation(kind), START)
        assert isinstance(reserved, PendingOperation)
        assert (reserved.amount, reserved.number) == (amount, payment.operations + 1)
        payment = rules.take_back_operation(rules.begin_operation(payment, reserved, START), "dropped", START)
    assert payment.operations == 3


def test_one_base_unit_is_enough_for_every_operation() -> None:
    one = BaseUnits(1)
    payment = replace(PAYMENT, amount=one, max_amount=one)
    assert rules.refusal(payment, Operation(OperationKind.AUTHORIZE), START) is None
    authorized = replace(payment, authorized=one)
    assert rules.can_capture(authorized, START) and rules.can_void(authorized) and can_reclaim(authorized, authorized.refund_expiry)
    assert rules.refusal(authorized, Operation(OperationKind.CAPTURE, one), START) is None
    captured = replace(authorized, captured=one)
    assert rules.can_refund(captured, START)
    assert rules.refusal(captured, Operation(OperationKind.REFUND, one), START) is None


@pytest.mark.parametrize(
    ("amount", "fee_bps", "fee"), [(10_000, 1, 1), (9_999, 1, 0), (60_000_000, 250, 1_500_000), (7, 10_000, 7)]
)
def test_a_fee_is_so_many_ten_thousandths_of_the_amount_rounded_down(amount: int, fee_bps: int, fee: int) -> None:
    assert rules.fee_on(amount, fee_bps) == fee
    captured = replace(event(Asked("capture", amount, fee_bps), amount), fee_receiver=FEES)
    after, entry = ledger.post(PAYMENT, captured, START)
    assert (after.captured, after.fees) == (amount, fee)
    assert ledger.undo(after, entry, START)[0].fees == 0


def test_only_a_capture_or_charge_takes_a_fee_and_the_least_one_binds_only_these() -> None:
    terms = replace(PAYMENT, min_fee_bps=100, fee_receiver=FEES)
    authorized = replace(terms, authorized=BaseUnits(100), captured=BaseUnits(50))
    for payment, kind in (
        (terms, OperationKind.AUTHORIZE),
        (authorized, OperationKind.VOID),
        (authorized, OperationKind.REFUND),
    ):
        reserved = rules.reserve(payment, Operation(kind), START)
        assert isinstance(reserved, PendingOperation), kind
        assert (reserved.fee_bps, reserved.fee_receiver) == (0, None)
    for payment, kind in ((terms, OperationKind.CHARGE), (authorized, OperationKind.CAPTURE)):
        for fee_bps, is_possible in ((99, False), (100, True), (1000, True), (1001, False)):
            reserved = rules.reserve(payment, Operation(kind, fee_bps=fee_bps), START)
            assert isinstance(reserved, PendingOperation) is is_possible, (kind, fee_bps)


@pytest.mark.parametrize(
    "other",
    [
        Operation(OperationKind.CAPTURE, BaseUnits(40), 250, FEES),
        Operation(OperationKind.CAPTURE, BaseUnits(41), 100, FEES),
        Operation(OperationKind.CAPTURE, BaseUnits(40), 100, OTHER),
    ],
)
def test_a_capture_with_another_amount_fee_or_receiver_is_another_operation(other: Operation) -> None:
    payment, wanted = after_calls(Asked("authorize", 100)), Operation(OperationKind.CAPTURE, BaseUnits(40), 100, FEES)
    reserved = rules.reserve(payment, wanted, START)
    assert isinstance(reserved, PendingOperation)
    pending = rules.begin_operation(payment, reserved, START)
    assert rules.reserve(pending, wanted, START) == reserved
    assert isinstance(rules.reserve(pending, other, START), Refusal)


@pytest.mark.parametrize("asked", [Asked("authorize", 100), Asked("void"), Asked("refund", 10)])
def test_what_has_no_fee_is_the_same_when_asked_for_again_also_if_the_terms_name_who_gets_fees(asked: Asked) -> None:
    before = {"authorize": (), "void": (Asked("authorize", 100),), "refund": (Asked("charge", 100),)}[asked.name]
    payment = replace(after_calls(*before), fee_receiver=FEES)
    reserved = rules.reserve(payment, replace(operation(asked), fee_bps=7), START)
    assert isinstance(reserved, PendingOperation) and (reserved.fee_bps, reserved.fee_receiver) == (0, None)
    assert rules.reserve(rules.begin_operation(payment, reserved, START), operation(asked), START) == reserved


def test_a_void_that_is_pending_is_the_same_though_what_is_held_has_changed() -> None:
    payment = after_calls(Asked("authorize", 100))
    reserved = rules.reserve(payment, Operation(OperationKind.VOID), START)
    assert isinstance(reserved, PendingOperation)
    pending = replace(rules.begin_operation(payment, reserved, START), captured=BaseUnits(30))
    assert rules.reserve(pending, Operation(OperationKind.VOID), START) == reserved


def test_every_change_of_a_payment_is_dated_and_looked_at_next_at_once() -> None:
    reserved = rules.reserve(PAYMENT, Operation(OperationKind.AUTHORIZE), START)
    assert isinstance(reserved, PendingOperation) and reserved.submitted_at == START
    first, second, third = (START + number * SECOND for number in (1, 2, 3))
    begun = rules.begin_operation(PAYMENT, reserved, first)
    posted, entry = ledger.post(begun, event(Asked("authorize", 100), 100), second)
    undone, _ = ledger.undo(posted, entry, third)
    back = rules.take_back_operation(begun, "It reverted", second)
    for changed, at in ((begun, first), (posted, second), (undone, third), (back, second)):
        assert (changed.changed_at, changed.check_at) == (at, at)


@pytest.mark.parametrize(
    ("kind", "totals"),
    [
        (EscrowEventKind.PRE_APPROVED, (0, 0, 0, 0, 0)),
        (EscrowEventKind.AUTHORIZED, (7, 0, 0, 0, 0)),
        (EscrowEventKind.CHARGED, (7, 7, 0, 0, 0)),
        (EscrowEventKind.CAPTURED, (0, 7, 0, 0, 0)),
        (EscrowEventKind.VOIDED, (0, 0, 7, 0, 0)),
        (EscrowEventKind.RECLAIMED, (0, 0, 0, 7, 0)),
        (EscrowEventKind.REFUNDED, (0, 0, 0, 0, 7)),
    ],
)
def test_each_event_adds_its_amount_to_its_totals_and_takes_it_from_them_again(
    kind: EscrowEventKind, totals: tuple[int, ...]
) -> None:
    entry = replace(event(Asked("authorize"), 7), kind=kind)
    posted, entry = ledger.post(PAYMENT, entry, START)
    assert (books(posted), entry.state) == (totals, EntryState.POSTED)
    undone, entry = ledger.undo(posted, entry, START)
    assert (books(undone), entry.state) == ((0,) * 5, EntryState.VOIDED)
    again, entry = ledger.post(undone, entry, START)
    assert (books(again), entry.state) == (totals, EntryState.POSTED), "as if another fork had brought it back"


@pytest.mark.parametrize("name", ["void", "reclaim", "refund", "charge", "authorize"])
def test_an_event_of_another_kind_ends_no_operation_though_its_amount_is_the_same(name: str) -> None:
    payment = after_calls(Asked("authorize", 100), Asked("capture", 50))
    reserved = rules.reserve(payment, Operation(OperationKind.CAPTURE, BaseUnits(50)), START)
    assert isinstance(reserved, PendingOperation)
    after, entry = ledger.post(rules.begin_operation(payment, reserved, START), event(Asked(name), 50), START)
    assert (after.pending, entry.operation) == (reserved, None)


def test_a_void_is_ended_by_its_event_whatever_was_captured_meanwhile() -> None:
    payment = after_calls(Asked("authorize", 100))
    reserved = rules.reserve(payment, Operation(OperationKind.VOID), START)
    assert isinstance(reserved, PendingOperation) and reserved.amount == 100
    after, entry = ledger.post(rules.begin_operation(payment, reserved, START), event(Asked("void"), 60), START)
    assert (after.pending, entry.operation) == (None, reserved)


def test_an_amount_that_can_never_be_authorized_or_refunded_is_invalid_and_names_the_field() -> None:
    for payment, asked in (
        (PAYMENT, Operation(OperationKind.AUTHORIZE, BaseUnits(101))),
        (PAYMENT, Operation(OperationKind.CHARGE, BaseUnits(0))),
        (after_calls(Asked("charge", 100)), Operation(OperationKind.REFUND, BaseUnits(101))),
    ):
        refused = rules.refusal(payment, asked, START)
        assert refused is not None and (refused.is_invalid, refused.field) == (True, "amount")


def test_a_failure_of_what_nobody_has_pre_approved_adds_no_wallet() -> None:
    reserved = rules.reserve(PAYMENT, Operation(OperationKind.AUTHORIZE), START)
    assert isinstance(reserved, PendingOperation)
    assert rules.take_back_operation(rules.begin_operation(PAYMENT, reserved, START), "It reverted", START).pre_approved_by == ()


def test_the_reason_of_a_failure_is_gone_after_an_operation_that_does_not_fail() -> None:
    """Also of one that waited while the failing one was pending again after a fork."""
    payment = after_calls(Asked("authorize", 100))
    for number, amount in ((1, 40), (2, 60)):
        reserved = rules.reserve(
            replace(payment, pending=None), Operation(OperationKind.CAPTURE, BaseUnits(amount)), START
        )
        assert isinstance(reserved, PendingOperation)
        payment = rules.with_unfinished(payment, (*rules.unfinished_operations(payment), replace(reserved, number=number)))
    failed = rules.take_back_operation(payment, "It reverted", START)
    assert failed.failure == "It reverted" and failed.pending is not None and failed.pending.amount == 60
    assert failed.failed_payer == BUYER
    done, _ = ledger.post(failed, event(Asked("capture", 60), 60), START)
    assert (done.pending, done.failure, done.failed_payer) == (None, None, None)
    by_another, _ = ledger.post(failed, event(Asked("capture", 50), 50), START)
    assert by_another.failure == "It reverted", "the event ends no operation"
    begun = rules.begin_operation(failed, failed.pending, START)
    assert (begun.failure, begun.failed_payer) == (None, None)


def pre_approval(payer: str, number: int = 1) -> EscrowEntry:
    return replace(event(Asked("authorize"), 0, number), kind=EscrowEventKind.PRE_APPROVED, payer=payer)


def test_wallets_that_have_pre_approved_are_kept_once_the_newest_last_and_a_fork_removes_one() -> None:
    payment = new_payment(START, buyer=None)
    for payer in (BUYER, OTHER, FEES, BUYER):
        payment, _ = ledger.post(payment, pre_approval(payer), START)
    assert payment.pre_approved_by == (OTHER, FEES, BUYER)
    undone, voided = ledger.undo(payment, pre_approval(FEES), START)
    assert undone.pre_approved_by == (OTHER, BUYER) and voided.state is EntryState.VOIDED
    charged, entry = ledger.post(undone, replace(event(Asked("charge"), 100), payer=OTHER), START)
    assert charged.pre_approved_by == (OTHER, BUYER)
    assert ledger.undo(charged, entry, START)[0].pre_approved_by == (OTHER, BUYER), "only the charge is undone"


def test_of_many_wallets_that_have_pre_approved_the_newest_hundred_are_kept() -> None:
    payment, wallets = new_payment(START, buyer=None), [f"0x{number:040x}" for number in range(1, 103)]
    for wallet in wallets:
        payment, _ = ledger.post(payment, pre_approval(wallet), START)
    assert payment.pre_approved_by == tuple(wallets[2:])


@pytest.mark.parametrize(
    ("changes", "is_balanced"),
    [
        ({"authorized": 100}, True),
        ({"authorized": 100, "captured": 60, "voided": 40, "refunded": 60}, True),
        ({"authorized": 100, "captured": 60, "reclaimed": 40}, True),
        ({"authorized": 100, "captured": 60, "voided": 41}, False),
        ({"authorized": 100, "captured": 60, "reclaimed": 41}, False),
        ({"authorized": 100, "voided": 60, "reclaimed": 41}, False),
        ({"authorized": 100, "captured": 60, "refunded": 61}, False),
        ({"captured": 1}, False),
    ],
)
def test_totals_are_balanced_unless_more_left_the_escrow_than_it_took_or_was_refunded_than_captured(
    changes: dict[str, int], is_balanced: bool
) -> None:
    payment = replace(PAYMENT, **{name: BaseUnits(amount) for name, amount in changes.items()})  # type: ignore[arg-type]
    assert ledger.is_balanced(payment) is is_balanced
    state = payment.is_collected, payment.capturable, payment.refundable
    assert ledger.is_state_of(payment, *state) is is_balanced


@pytest.mark.parametrize("stored", [(False, 40, 60), (True, 41, 60), (True, 40, 59)])
def test_totals_that_the_escrow_does_not_have_are_not_its_state(stored: tuple[bool, int, int]) -> None:
    payment = after_calls(Asked("authorize", 100), Asked("capture", 60))
    assert ledger.is_state_of(payment, True, 40, 60) and not ledger.is_state_of(payment, *stored)


def test_the_last_phase_has_no_end() -> None:
    assert Contract(phase=AFTER_ALL).later().phase == AFTER_ALL


@pytest.mark.parametrize(("name", "fees"), [("charge", 1), ("capture", 1), ("authorize", 0), ("refund", 0), ("void", 0)])
def test_only_what_is_captured_has_a_fee_which_is_rounded_down_and_taken_off_again_by_a_fork(name: str, fees: int) -> None:
    entry = event(Asked(name, fee_bps=100), 199)
    posted, kept = ledger.post(PAYMENT, entry, START)
    assert posted.fees == fees
    assert ledger.undo(posted, kept, START)[0].fees == 0
    free, _ = ledger.post(PAYMENT, replace(entry, fee_bps=0), START)
    assert free.fees == 0


def test_a_new_payment_has_moved_nothing_and_its_events_have_no_fee_unless_they_say_so() -> None:
    assert books(PAYMENT) == (0,) * 5 and (PAYMENT.fees, PAYMENT.operations, PAYMENT.is_end_notified) == (0, 0, False)
    assert PAYMENT.collects_unasked, "what is pre-approved is taken unless the merchant does not want that"
    facts = ("request", 1, "0xb", "0xt", "e-1", 0, EscrowEventKind.CHARGED, BaseUnits(10**9), START)
    entry = EscrowEntry(*facts)
    assert (entry.version, PAYMENT.version) == (0, 0), "neither is stored"
    assert (PAYMENT.next_due, replace(PAYMENT, check_at=START).next_due) == (None, START)
    assert ledger.post(PAYMENT, entry, START)[0].fees == 0
    assert entry.key == EscrowEntry.KEY.of(request_id="request", block_number=1, block_hash="0xb", tx_hash="0xt", event_key="e-1")
    assert PendingOperation(1, OperationKind.CAPTURE, BaseUnits(1), START).fee_bps == 0
