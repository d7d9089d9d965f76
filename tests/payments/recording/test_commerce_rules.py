"""What one event of the escrow changes, and how often the merchant is notified that a commerce payment has ended."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind, LoggedEscrow
from chalicelib.commerce.core.records import CommercePayment, EntryState
from chalicelib.payments.recording.causes import postings
from chalicelib.payments.recording.causes.postings import Posting
from chalicelib.payments.requests.records import Reference
from chalicelib.payments.scanning.records import LoggedTransfer
from tests.fakes.commerce import BUYER, OTHER, hash_with, new_payment
from tests.fakes.world import START
from tests.payments.recording.test_matching import CONTEXT, new_payable, transfer

Kind = EscrowEventKind
FEES = "0x" + "9" * 40
(REQUEST,) = new_payable().requests
PAYMENT = new_payment(START)
OPEN = new_payment(START, buyer=None)
LATER = replace(CONTEXT, now=START + timedelta(minutes=1))


def logged(kind: Kind, amount: int = 0, payer: str = BUYER, **fields: Any) -> LoggedTransfer:
    shown = payer if kind in (Kind.AUTHORIZED, Kind.CHARGED) else None
    event = LoggedEscrow(kind, hash_with(PAYMENT, payer), BaseUnits(amount), shown, **fields)
    return transfer(amount, reference_topic=event.payment_hash, escrow=event)


def after(*events: LoggedTransfer, payment: CommercePayment = PAYMENT) -> list[Posting]:
    made = list[Posting]()
    for each in events:
        of = made[-1].payment if made else payment
        made.append(postings.post(of, REQUEST, each, None, None, CONTEXT))
    return made


def reference(payer: str | None, is_refund: bool = False) -> Reference:
    return Reference(hash_with(OPEN, payer or BUYER), "link", 0, is_refund, payer)


@pytest.mark.parametrize(
    ("payment", "payer", "found", "reason"),
    [
        (PAYMENT, BUYER, None, None),
        (PAYMENT, OTHER, None, "unknown hash"),
        (OPEN, BUYER, None, "unknown hash"),
        (OPEN, BUYER, reference(None), "unknown hash"),
        (OPEN, BUYER, reference(BUYER, is_refund=True), "unknown hash"),
        (OPEN, BUYER, reference(BUYER), None),
        (OPEN, OTHER, reference(BUYER), "other payer than its hash has"),
        (replace(OPEN, payer=OTHER, payment_hash="0x12"), BUYER, reference(BUYER), "paid by two wallets"),
    ],
)
def test_an_event_is_one_of_a_payment_by_its_hash_and_payer(
    payment: CommercePayment, payer: str, found: Reference | None, reason: str | None
) -> None:
    event = logged(Kind.AUTHORIZED, 100, payer).escrow
    assert event is not None and postings.mismatch(payment, event, found) == reason


def test_any_wallet_may_pre_approve_what_another_one_has_paid() -> None:
    event = logged(Kind.PRE_APPROVED).escrow
    assert event is not None
    paid = replace(OPEN, payer=OTHER, payment_hash="0x12", authorized=BaseUnits(100))
    assert postings.mismatch(paid, event, reference(BUYER)) is None


@pytest.mark.parametrize("end", [Kind.VOIDED, Kind.RECLAIMED])
def test_the_end_of_what_is_held_is_told_once_and_again_only_after_a_fork_brought_it_back(end: Kind) -> None:
    _, ended = after(logged(Kind.AUTHORIZED, 100), logged(end, 100))
    assert (len(ended.events), ended.payment.is_end_notified) == (1, True)
    assert postings.expire_payment(ended.payment, REQUEST, CONTEXT) == (ended.payment, None)
    undone = postings.undo(ended.payment, REQUEST, ended.entry, CONTEXT)
    assert undone is not None and (undone.payment.capturable, undone.payment.is_end_notified) == (100, False)
    again = postings.post(undone.payment, REQUEST, logged(end, 100), undone.entry, None, CONTEXT)
    assert len(again.events) == 1


def test_an_expiry_that_was_told_stays_told_whatever_else_a_fork_removes() -> None:
    approved, authorized = after(logged(Kind.PRE_APPROVED), logged(Kind.AUTHORIZED, 100))
    notified, event = postings.expire_payment(authorized.payment, REQUEST, LATER)
    assert event is not None and (notified.is_end_notified, notified.changed_at) == (True, LATER.now)
    assert postings.expire_payment(notified, REQUEST, LATER) == (notified, None)
    for entry in (approved.entry, authorized.entry):
        undone = postings.undo(notified, REQUEST, entry, CONTEXT)
        assert undone is not None and undone.payment.is_end_notified
    (ended,) = after(logged(Kind.RECLAIMED, 100), payment=notified)
    assert ended.events == ()
    late = postings.undo(replace(ended.payment, authorized=BaseUnits(0)), REQUEST, ended.entry, CONTEXT)
    assert late is not None and late.payment.is_end_notified, "nothing is held again"


def test_nothing_has_ended_of_which_something_was_captured() -> None:
    _, captured, voided = after(logged(Kind.AUTHORIZED, 100), logged(Kind.CAPTURED, 60), logged(Kind.VOIDED, 40))
    assert (voided.events, voided.payment.is_end_notified) == ((), False)
    assert postings.expire_payment(captured.payment, REQUEST, CONTEXT) == (captured.payment, None)


def test_an_event_in_another_block_has_the_place_and_time_of_that_block() -> None:
    (authorized,) = after(logged(Kind.AUTHORIZED, 100))
    moved_to = replace(
        logged(Kind.AUTHORIZED, 100),
        block_number=9,
        block_hash="0x99",
        log_index=4,
        paid_at=START + timedelta(minutes=3),
    )
    voided, moved = postings.move(replace(authorized.entry, version=2), moved_to)
    assert (voided.state, voided.operation, voided.block_number, voided.version) == (EntryState.VOIDED, None, 1, 2)
    assert (moved.state, moved.block_number, moved.block_hash, moved.log_index) == (EntryState.POSTED, 9, "0x99", 4)
    assert (moved.at, moved.version, moved.amount) == (START + timedelta(minutes=3), 0, 100)


def test_an_entry_names_who_received_a_fee_and_nobody_without_one() -> None:
    for kind in (Kind.CHARGED, Kind.CAPTURED):
        for bps, receiver in ((1, FEES), (0, None)):
            (posting,) = after(logged(kind, 50, fee_bps=bps, fee_receiver=FEES))
            assert (posting.entry.fee_bps, posting.entry.fee_receiver) == (bps, receiver)
