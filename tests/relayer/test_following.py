"""What is done next about a transaction, at the exact limits of time, nonces and blocks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import AccountReading, Receipt
from chalicelib.relayer.following import (
    SUPERSEDED_REASON,
    ChainState,
    Step,
    finish_superseded,
    finish_transaction,
    is_nonce_used,
    next_step,
    receipt_of,
    reopen_transaction,
)
from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction
from tests.relayer.transactions import NOW, transaction

STUCK = timedelta(seconds=120)
UNSIGNED_AFTER, SENT_AGAIN_AFTER = timedelta(seconds=20), timedelta(seconds=30)
DAYS = timedelta(days=3)
WINDOW = 200
MOMENT = timedelta(milliseconds=1)
OLD, NEW = "0x" + "0a" * 32, "0x" + "0b" * 32
SIGNED = transaction(5, hashes=(OLD, NEW), raw="0x02", signed_at=NOW)


def chain(
    nonce: int = 5, base_fee: int = 10**9, tip: int = 10**9, receipt: Receipt | None = None
) -> ChainState:
    """Blocks up to 90 are deep enough."""
    reading = AccountReading(100, nonce, BaseUnits(0), BaseUnits(base_fee), BaseUnits(tip))
    return ChainState(reading, {receipt.tx_hash: receipt} if receipt else {}, 11)


def receipt(block: int = 90, tx_hash: str = OLD, success: bool = True) -> Receipt:
    return Receipt(tx_hash, block, "0x" + "34" * 32, success, BaseUnits(7))


def step(record: RelayedTransaction, state: ChainState, after: timedelta = timedelta()) -> Step:
    return next_step(record, state, STUCK, NOW + after)


@pytest.mark.parametrize("tx_hash", [OLD, NEW])
def test_each_of_the_transactions_with_the_nonce_is_to_be_proven_when_its_block_is_deep_enough(tx_hash: str) -> None:
    assert chain().confirmed_to == 90
    assert step(SIGNED, chain(receipt=receipt(90, tx_hash))) is Step.PROVE
    assert step(SIGNED, chain(receipt=receipt(91, tx_hash))) is Step.WAIT
    assert step(SIGNED, chain(receipt=receipt(90, "0x" + "0c" * 32))) is Step.WAIT
    assert receipt_of(SIGNED, chain(receipt=receipt(1, tx_hash))) == receipt(1, tx_hash)
    assert receipt_of(SIGNED, chain()) is None


def test_at_the_beginning_of_a_chain_no_block_but_the_first_is_deep_enough() -> None:
    reading = AccountReading(9, 0, BaseUnits(0), BaseUnits(1), BaseUnits(1))
    assert [ChainState(reading, {}, depth).confirmed_to for depth in (9, 10, 11)] == [1, 0, 0]


def test_what_another_node_says_counts_for_a_transaction_that_is_overdue() -> None:
    """Three minutes after it was accepted."""
    overdue, before = timedelta(minutes=3), timedelta(minutes=3) - MOMENT
    further = AccountReading(200, 6, BaseUnits(0), BaseUnits(1), BaseUnits(1))
    used, late = (replace(each, reading=replace(each.reading, others=(further,))) for each in (chain(), chain(receipt=receipt(91))))
    assert [is_nonce_used(SIGNED, used, NOW + after) for after in (before, overdue)] == [False, True]
    assert [step(SIGNED, late, after) for after in (before, overdue)] == [Step.WAIT, Step.PROVE]
    reading = used.reading
    assert (reading.executed, reading.executed_for_all, reading.newest_head, reading.oldest_head) == (6, 5, 200, 100)
    assert used.used_at == 200 and replace(used, reading=replace(reading, is_of_one=True)).used_at is None


def test_a_receipt_counts_for_more_than_nonces() -> None:
    taken = replace(SIGNED, nonce_used_since=NOW - DAYS)
    assert step(taken, chain(nonce=9, receipt=receipt())) is Step.PROVE


def test_a_nonce_that_is_used_without_a_receipt_is_noted_and_the_same_bytes_are_sent_for_ever() -> None:
    taken = chain(nonce=6)
    assert step(SIGNED, taken) is Step.NOTE_NONCE_USED and is_nonce_used(SIGNED, taken, NOW)
    noted = replace(SIGNED, nonce_used_since=NOW)
    assert step(noted, taken, SENT_AGAIN_AFTER - MOMENT) is Step.WAIT
    for after in (SENT_AGAIN_AFTER, STUCK, DAYS):
        assert step(noted, taken, after) is Step.SEND
    assert step(noted, chain(base_fee=10**12, nonce=6), STUCK) is Step.SEND, "a higher fee changes nothing"
    assert step(noted, chain(), DAYS) is Step.NOTE_NONCE_FREE
    shallow = chain(nonce=6, receipt=receipt(91))
    assert step(SIGNED, shallow) is Step.WAIT and not is_nonce_used(SIGNED, shallow, NOW)


def test_what_is_not_signed_is_left_to_the_worker_that_accepted_it_for_a_while() -> None:
    unsigned = transaction(5)
    assert step(unsigned, chain(), UNSIGNED_AFTER - MOMENT) is Step.WAIT
    assert step(unsigned, chain(), UNSIGNED_AFTER) is Step.SIGN


def test_transactions_beyond_the_window_wait_also_unsigned() -> None:
    long = 10 * STUCK
    for record in (transaction(5 + WINDOW), transaction(5 + WINDOW, hashes=(OLD,), raw="0x02", signed_at=NOW)):
        assert step(record, chain(), long) is Step.WAIT
        assert step(replace(record, nonce=4 + WINDOW), chain(), long) in (Step.SIGN, Step.SEND)


def test_a_transaction_in_no_block_is_sent_again_and_replaced_when_it_is_stuck() -> None:
    assert step(SIGNED, chain(), SENT_AGAIN_AFTER - MOMENT) is Step.WAIT
    assert step(SIGNED, chain(), SENT_AGAIN_AFTER) is Step.SEND
    assert step(SIGNED, chain(), STUCK - MOMENT) is Step.SEND
    assert step(SIGNED, chain(), STUCK) is Step.REPLACE


def test_one_that_waits_for_others_is_replaced_only_if_it_offers_less_than_gas_costs() -> None:
    """Its offer is 3 gwei."""
    behind = replace(SIGNED, nonce=6)
    assert step(behind, chain(base_fee=2 * 10**9, tip=10**9), STUCK) is Step.SEND
    assert step(behind, chain(base_fee=2 * 10**9, tip=10**9 + 1), STUCK) is Step.REPLACE
    assert step(behind, chain(base_fee=3 * 10**9 + 1, tip=0), STUCK) is Step.REPLACE
    assert step(behind, chain(base_fee=3 * 10**9 + 1, tip=0), STUCK - MOMENT) is Step.SEND


def test_a_finished_call_tells_the_transaction_the_block_the_cost_and_why_it_reverted() -> None:
    closed, call = finish_transaction(SIGNED, receipt(88, NEW), "no", NOW)
    assert closed == replace(SIGNED, closed_at=NOW), "the bytes are kept"
    accepted = RelayedCall("payout/5", "sepolia", SIGNED.sender, 5, SIGNED.created_at, version=1)
    done = replace(accepted, status=CallStatus.SUCCEEDED, tx_hash=NEW, block_number=88, cost=BaseUnits(7))
    assert call == done
    _, reverted = finish_transaction(SIGNED, receipt(88, NEW, success=False), "no", NOW)
    assert reverted == replace(done, status=CallStatus.REVERTED, reason="no")
    _, lost = finish_superseded(SIGNED, NOW)
    assert lost == replace(accepted, status=CallStatus.SUPERSEDED, reason=SUPERSEDED_REASON)


def test_without_its_key_a_transaction_is_only_sent_again_and_finished() -> None:
    def without(record: RelayedTransaction, state: ChainState, after: timedelta = timedelta()) -> Step:
        return next_step(record, state, STUCK, NOW + after, can_sign=False)

    assert without(transaction(5), chain(), UNSIGNED_AFTER) is Step.NEEDS_KEY
    assert without(SIGNED, chain(), STUCK) is Step.NEEDS_KEY
    assert without(SIGNED, chain(), SENT_AGAIN_AFTER) is Step.SEND
    assert without(SIGNED, chain(receipt=receipt())) is Step.PROVE


def test_a_call_that_a_fork_took_out_of_the_chain_is_open_again_and_sent_at_once() -> None:
    closed, call = finish_transaction(SIGNED, receipt(88, NEW, success=False), "no", NOW)
    call = replace(call, version=2)
    later = NOW + timedelta(days=1)
    is_open, unknown = reopen_transaction(replace(closed, nonce_used_since=NOW, nonce_used_at=90), call, later)
    assert unknown == RelayedCall("payout/5", "sepolia", SIGNED.sender, 5, SIGNED.created_at, version=2)
    assert (is_open.closed_at, is_open.raw) == (None, SIGNED.raw)
    assert (is_open.nonce_used_since, is_open.nonce_used_at) == (None, None)
    assert next_step(is_open, chain(), STUCK, later) is Step.SEND
    again, found = finish_transaction(is_open, receipt(95, OLD), None, later)
    done = {"status": CallStatus.SUCCEEDED, "tx_hash": OLD, "block_number": 95, "cost": BaseUnits(7)}
    assert found == replace(unknown, **done, version=3) and again.closed_at == later
