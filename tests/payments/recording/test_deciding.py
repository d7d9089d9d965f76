"""What one part of a payable's transfers changes: states of log entries, payments, unmatched transfers, totals, events."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.records import LinkStatus, Payable
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.recording import matching
from chalicelib.payments.recording.changes import Changes, RecordedId, Stored
from chalicelib.payments.recording.deciding import decide
from chalicelib.payments.recording.unmatched import MAX_PER_KIND, UnmatchedKind
from chalicelib.payments.recording.valuation import Accepted, ValuationRate
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, Refund, UnmatchedTransfer
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.scanning.records import LoggedTransfer, TransferState, UnrecordedTransfers
from tests.fakes.world import PAYEE, START
from tests.payments.recording.test_matching import CONTEXT, link_of, new_payable, transfer

ACCEPTED = Accepted(tolerance_bps=100, max_rate_age=3600)
LINK = new_payable()
(REQUEST,) = LINK.requests
TOPIC = reference_topic(bytes.fromhex(REQUEST.payment_reference[2:]))
STRANGER = "0x" + "22" * 20


def entry(number: int, amount: int = 1_000_000, **changes: object) -> LoggedTransfer:
    return transfer(amount, number, reference_topic=TOPIC, **changes)


def moved(known: LoggedTransfer, block_number: int = 99) -> LoggedTransfer:
    """The same transfer in another block, not recorded."""
    return replace(known, block_number=block_number, block_hash=f"0xb{block_number}", state=TransferState.UNRECORDED, version=0)


class Recorder:
    """Keeps what parts change, as the store would."""

    def __init__(self, payable: Payable = LINK, refund: Refund | None = None) -> None:
        self.payable = payable
        self.refunds = {} if refund is None else {(refund.topic, refund.currency): refund}
        self.log: dict[object, LoggedTransfer] = {}
        self.payments: dict[RecordedId, Payment] = {}
        self.unmatched: dict[RecordedId, UnmatchedTransfer] = {}
        self.notified: list[str] = []

    def record(
        self,
        *added: LoggedTransfer,
        removed: Iterable[LoggedTransfer] = (),
        waits_for_rate: bool = False,
        valuation_rate: ValuationRate | None = None,
    ) -> Changes:
        """`valuation_rate` values the added transfers that need one; without it they become UNVALUED."""
        for each in (*added, *removed):
            self.log.setdefault(each.transfer_id, each)
        part = UnrecordedTransfers(
            payable_id=link_of(LINK).token,
            network="sepolia",
            sequence=1,
            block_number=1,
            part=0,
            digest="",
            detected_at=START,
            added=tuple(each.transfer_id for each in added),
            removed=tuple(each.transfer_id for each in removed),
            waits_for_rate=waits_for_rate,
        )
        wanted = {each: self.log[each] for each in (*part.added, *part.removed)}
        listed = {REQUEST.request_id: tuple(self.payments.values())}
        valuation_rates = dict.fromkeys(part.added, valuation_rate) if valuation_rate is not None else {}
        stored = Stored(wanted, self.payments, self.unmatched, listed, self.refunds, valuation_rates)
        changes = decide(self.payable, part, stored, ACCEPTED, CONTEXT)
        self.payable = changes.payable
        self.notified += [event.kind for event in changes.events]
        for record in changes.records.values():
            match record:
                case LoggedTransfer():
                    self.log[record.transfer_id] = record
                case Payment():
                    self.payments[RecordedId.of(record)] = record
                case UnmatchedTransfer():
                    self.unmatched[RecordedId.of(record)] = record
                case Refund():
                    self.refunds[record.topic, record.currency] = record
        return changes

    def state(self, each: LoggedTransfer) -> TransferState:
        return self.log[each.transfer_id].state

    @property
    def paid(self) -> int:
        return self.payable.requests[0].paid


def test_a_transfer_that_counts_becomes_a_payment_with_its_entry_its_request_and_an_event() -> None:
    recorder, first = Recorder(), entry(1)
    changes = recorder.record(first)
    assert {type(record).__name__ for record in changes.records.values()} == {"LoggedTransfer", "Payment", "Request"}
    assert (changes.recorded, changes.skipped, recorder.notified) == (1, [], ["payment.partial"])
    assert (recorder.paid, recorder.state(first)) == (1_000_000, TransferState.PAYMENT)


def test_a_part_that_is_recorded_again_changes_nothing() -> None:
    recorder, added = Recorder(), [entry(1), entry(2, payee=STRANGER)]
    gone = [entry(3), entry(4, payee=STRANGER)]
    recorder.record(*added, *gone)
    recorder.record(removed=gone)
    before = recorder.payable
    changes = recorder.record(*added, removed=gone)
    assert (changes.records, changes.events, changes.recorded, changes.payable) == ({}, [], 0, before)


def test_the_transfers_of_a_part_add_up_and_the_one_that_completes_the_request_is_confirmed() -> None:
    recorder = Recorder()
    changes = recorder.record(entry(1, 4_000_000), entry(2, 6_000_000), entry(3, 5))
    assert (recorder.paid, recorder.payable.requests[0].status) == (10_000_005, RequestStatus.PAID)
    assert recorder.notified == ["payment.partial", "payment.confirmed", "payment.unexpected"]
    assert changes.recorded == 3


def test_a_transfer_that_does_not_count_is_kept_with_its_reason_and_counted_by_kind() -> None:
    recorder, stray = Recorder(), entry(1, payee=STRANGER)
    changes = recorder.record(stray)
    assert changes.skipped == [(stray, "wrong_payee")]
    (kept,) = recorder.unmatched.values()
    assert (kept.reason, kept.amount, kept.event_key) == ("wrong_payee", 1_000_000, "e-0")
    assert (recorder.payable.requests[0].other_payee_count, recorder.paid) == (1, 0)
    assert (recorder.state(stray), recorder.notified) == (TransferState.UNMATCHED, ["payment.unexpected"])


def test_a_transfer_beyond_the_limit_of_its_kind_is_ignored() -> None:
    request = replace(REQUEST, other_payee_count=MAX_PER_KIND[UnmatchedKind.OTHER_PAYEE])
    recorder, stray = Recorder(replace(LINK, requests=(request,))), entry(1, payee=STRANGER)
    changes = recorder.record(stray)
    assert changes.skipped == [(stray, "wrong_payee")]
    assert (recorder.unmatched, recorder.state(stray)) == ({}, TransferState.IGNORED)
    recorder.record(removed=[recorder.log[stray.transfer_id]])
    assert recorder.state(stray) is TransferState.REVERSED
    assert recorder.payable.requests[0].other_payee_count == MAX_PER_KIND[UnmatchedKind.OTHER_PAYEE]


def test_a_transfer_whose_reference_is_not_of_the_link_is_ignored() -> None:
    recorder, alien = Recorder(), transfer(5)
    changes = recorder.record(alien)
    assert changes.skipped == [(alien, "reference without a request")]
    assert (recorder.state(alien), recorder.paid) == (TransferState.IGNORED, 0)
    assert recorder.record(removed=[alien]).records == {}
    again = moved(alien)
    assert recorder.record(again, removed=[alien]).skipped == [(again, "reference without a request")]
    assert (recorder.state(alien), recorder.state(again)) == (TransferState.REVERSED, TransferState.IGNORED)


def test_a_transfer_with_the_reference_of_a_refund_sends_it_only_if_it_reaches_the_payer() -> None:
    refund = Refund("0x00", "fUSDC-sepolia", REQUEST.request_id, link_of(LINK).token, "sepolia", PAYEE, START)
    for payee, state, skipped in (
        (PAYEE.lower(), TransferState.REFUND, []),
        (STRANGER, TransferState.IGNORED, ["refund to another address"]),
    ):
        recorder, sent = Recorder(refund=refund), transfer(5, payee=payee)
        changes = recorder.record(sent)
        assert (recorder.state(sent), [reason for _, reason in changes.skipped]) == (state, skipped)


def test_a_refund_that_moved_is_sent_once_and_its_removal_undoes_it() -> None:
    refund = Refund("0x00", "fUSDC-sepolia", REQUEST.request_id, link_of(LINK).token, "sepolia", PAYEE, START)
    recorder, sent = Recorder(refund=refund), transfer(5)
    second = moved(sent)
    recorder.record(sent)
    recorder.record(second, removed=[sent])
    assert (recorder.state(sent), recorder.state(second)) == (TransferState.REVERSED, TransferState.REFUND)
    assert [each.sent for each in recorder.refunds.values()] == [5]
    recorder.record(removed=[second])
    assert recorder.state(second) is TransferState.REVERSED
    assert [each.sent for each in recorder.refunds.values()] == [0]


def test_a_removed_payment_is_reversed_and_may_come_back() -> None:
    recorder, first = Recorder(), entry(1, 10_000_000)
    recorder.record(first)
    recorder.record(removed=[first])
    assert (recorder.paid, recorder.state(first)) == (0, TransferState.REVERSED)
    assert [each.status for each in recorder.payments.values()] == [PaymentStatus.REVERSED]
    recorder.record(first)
    assert (recorder.paid, recorder.state(first)) == (10_000_000, TransferState.PAYMENT)
    assert recorder.notified == ["payment.confirmed", "payment.failed", "payment.confirmed"]


@pytest.mark.parametrize("payee", [PAYEE.lower(), STRANGER], ids=["payment", "unmatched"])
def test_a_transfer_that_moved_keeps_what_it_became_with_its_new_block(payee: str) -> None:
    recorder, first = Recorder(), entry(1, payee=payee)
    recorder.record(first)
    request, notified, state = recorder.payable.requests[0], list(recorder.notified), recorder.state(first)
    second = moved(first)
    recorder.record(second, removed=[first])
    assert (recorder.state(first), recorder.state(second)) == (TransferState.REVERSED, state)
    (kept,) = (*recorder.payments.values(), *recorder.unmatched.values())
    assert (kept.block_number, kept.block_hash, kept.status) == (99, "0xb99", PaymentStatus.CONFIRMED)
    assert (recorder.payable.requests[0], recorder.notified) == (request, notified)


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": BaseUnits(4_000_000)},
        {"fee_amount": BaseUnits(5)},
        {"fee_address": STRANGER},
        {"payee": STRANGER},
        {"token_address": None},
        {"reference_topic": "0x00"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_transfer_that_has_another_content_in_its_new_block_is_recorded_in_place_of_the_former(
    changes: dict[str, object],
) -> None:
    recorder, first = Recorder(), entry(1)
    recorder.record(first)
    second = replace(moved(first), **changes)  # type: ignore[arg-type]
    recorder.record(second, removed=[first])
    assert recorder.notified[1] == "payment.failed"
    assert recorder.state(first) is TransferState.REVERSED
    counts = not changes.keys() & {"payee", "token_address", "reference_topic"}
    assert recorder.paid == (second.amount if counts else 0)


def test_a_summed_transfer_that_moved_stays_summed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 0)
    recorder, dust = Recorder(), entry(1, 1)
    recorder.record(dust)
    second = moved(dust)
    recorder.record(second, removed=[dust])
    request = recorder.payable.requests[0]
    assert (recorder.state(second), request.paid, request.dust_count) == (TransferState.DUST, 1, 1)
    recorder.record(removed=[second])
    request = recorder.payable.requests[0]
    assert (recorder.paid, request.dust_count, request.dust_amount) == (0, 0, 0)


def test_a_paid_request_that_a_removal_makes_unpaid_is_told_whatever_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The merchant was notified that it is paid, though not by the payment that vanishes now."""
    first, second, third = entry(1, 10_000_000), entry(2, 6_000_000), entry(3, 5_000_000)
    recorder = Recorder()
    recorder.record(first, second, third)
    recorder.record(removed=[first])
    unexpected = ["payment.unexpected"]
    notified = ["payment.confirmed", *unexpected * 2, "payment.failed", "payment.confirmed"]
    assert (recorder.paid, recorder.notified) == (11_000_000, notified)
    recorder.record(removed=[second])
    notified = ["payment.failed", *unexpected]
    assert (link_of(recorder.payable).status, recorder.notified[5:]) == (LinkStatus.PENDING, notified)

    monkeypatch.setattr(matching, "MAX_SMALL_PAYMENTS", 0)
    dust, rest = entry(4, 1), entry(5, 9_999_999)
    recorder = Recorder()
    recorder.record(dust, rest)
    changes = recorder.record(removed=[dust])
    assert (link_of(recorder.payable).status, recorder.notified) == (LinkStatus.PENDING, ["payment.confirmed", "payment.failed"])
    said = json.loads(changes.events[0].body)
    assert (said["txHash"], said["amount"], said["totalAmountPaid"]) == (dust.tx_hash, "0.000001", "9.999999")
    assert recorder.record(dust).recorded == 1
    assert recorder.notified[2:] == ["payment.confirmed"]


def test_a_transfer_that_moved_before_it_was_recorded_is_recorded_in_its_new_block() -> None:
    recorder, first = Recorder(), entry(1)
    second = moved(first)
    changes = recorder.record(second, removed=[first])
    assert (recorder.state(first), recorder.state(second)) == (TransferState.REVERSED, TransferState.PAYMENT)
    assert (recorder.paid, changes.recorded, recorder.notified) == (1_000_000, 1, ["payment.partial"])


@pytest.mark.parametrize("payee", [PAYEE.lower(), STRANGER], ids=["payment", "unmatched"])
def test_the_removal_of_a_transfer_that_is_in_another_block_now_leaves_what_it_became(payee: str) -> None:
    """The move and the removal of the former block may come in two parts."""
    recorder, first = Recorder(), entry(1, payee=payee)
    recorder.record(first)
    request, notified = recorder.payable.requests[0], list(recorder.notified)
    recorder.record(moved(first))
    recorder.record(removed=[first])
    assert (recorder.payable.requests[0], recorder.notified) == (request, notified)
    assert recorder.state(first) is TransferState.REVERSED
    (kept,) = (*recorder.payments.values(), *recorder.unmatched.values())
    assert (kept.block_hash, kept.status) == ("0xb99", PaymentStatus.CONFIRMED)


def test_an_entry_that_is_not_in_the_log_any_more_is_left_out() -> None:
    part = UnrecordedTransfers("T", "sepolia", 1, 1, 0, "", START, added=(entry(1).transfer_id,))
    changes = decide(LINK, part, Stored({}, {}, {}, {}), ACCEPTED, CONTEXT)
    assert (changes.records, changes.recorded) == ({}, 0)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_transfer_that_waits_in_two_blocks_counts_in_the_later_one_in_whichever_order_they_are_valued(
    order: tuple[int, int],
) -> None:
    """If the fork that moved it could not be read in full, the removal of the first block comes after both."""
    in_dollars = replace(LINK, requests=(replace(REQUEST, invoice_currency="USD"),))
    recorder, rate = Recorder(in_dollars), Rate("USD", REQUEST.currency, BaseUnits(1), BaseUnits(1), RateSource.MIXED, START)
    blocks = [entry(5), moved(entry(5), 9)]
    for each in blocks:
        recorder.record(each)
        assert recorder.state(each) is TransferState.UNVALUED
    for index in order:
        recorder.record(blocks[index], waits_for_rate=True, valuation_rate=ValuationRate(rate, is_quoted=False))
    (payment,) = recorder.payments.values()
    assert payment.block_number == 9
    assert recorder.paid == 100_000_000
    recorder.record(removed=[blocks[0]])
    (payment,) = recorder.payments.values()
    assert (payment.block_number, payment.status) == (9, PaymentStatus.CONFIRMED)
    assert recorder.paid == 100_000_000
    recorder.record(removed=[blocks[1]])
    assert recorder.paid == 0
