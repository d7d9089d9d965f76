"""Which transfers are entered into the log, what is new of them, and which work that makes for the recorder."""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.history.logs import InconsistentNode, ProxyTransfer
from chalicelib.payments.scanning.records import LOG_RETENTION, LoggedTransfer, TransferState, UnrecordedTransfers
from chalicelib.payments.scanning.transfer_log import (
    REMOVALS_PER_PART,
    TRANSFERS_PER_PART,
    PayableId,
    check_vanished,
    counting,
    entries_of,
    find_reindexed,
    find_removed,
    find_vanished,
    select_unrecorded,
    work,
    work_of_fork,
)

NOW = datetime(2026, 3, 15, 10, 0, tzinfo=UTC)
PAID_AT = NOW - timedelta(seconds=24)
TRANSFER = ProxyTransfer(
    network="sepolia",
    token_address="0x" + "11" * 20,
    payee="0x" + "22" * 20,
    amount=BaseUnits(5),
    fee_amount=BaseUnits(1),
    fee_address="0x" + "33" * 20,
    reference_topic="0xaa",
    tx_hash="0x01",
    log_index=3,
    block_number=77,
    block_hash="0xbb",
    event_key="e-2",
    paid_at=PAID_AT,
)


def entry(number: int = 1, **changes: object) -> LoggedTransfer:
    """The entry of a transfer in transaction `number` of a block of its own; two links have every other one each."""
    made = replace(
        TRANSFER, tx_hash=f"0x{number:02}", block_number=number, block_hash=f"0xb{number}", log_index=0, event_key="e-0"
    )
    (of_log,) = entries_of([made], {"0xaa": PayableId(f"link{number % 2}", "acct")}, NOW)
    return replace(of_log, **changes)  # type: ignore[arg-type]


def test_an_entry_has_every_fact_of_the_transfer_the_link_and_both_times() -> None:
    assert entries_of([TRANSFER], {"0xaa": PayableId("01LINK", "acct")}, NOW) == [
        LoggedTransfer(
            network="sepolia",
            block_number=77,
            block_hash="0xbb",
            tx_hash="0x01",
            event_key="e-2",
            log_index=3,
            reference_topic="0xaa",
            payable_id="01LINK",
            token_address="0x" + "11" * 20,
            payee="0x" + "22" * 20,
            amount=BaseUnits(5),
            fee_amount=BaseUnits(1),
            fee_address="0x" + "33" * 20,
            paid_at=PAID_AT,
            detected_at=NOW,
            account_id="acct",
        )
    ]


def test_entries_are_in_the_order_of_the_chain() -> None:
    later = replace(TRANSFER, block_number=78, log_index=0)
    second = replace(TRANSFER, log_index=4)
    for order in itertools.permutations([TRANSFER, second, later]):
        found = entries_of(order, {"0xaa": PayableId("01LINK", "acct")}, NOW)
        assert [(each.block_number, each.log_index) for each in found] == [(77, 3), (77, 4), (78, 0)]


def test_a_transfer_without_the_time_of_its_block_is_no_entry_yet() -> None:
    with pytest.raises(AssertionError, match="times of blocks"):
        entries_of([replace(TRANSFER, paid_at=None)], {"0xaa": PayableId("01LINK", "acct")}, NOW)


def test_a_transfer_of_nothing_is_left_out() -> None:
    none, one = replace(TRANSFER, amount=BaseUnits(0)), replace(TRANSFER, amount=BaseUnits(1))
    assert counting([none, one, TRANSFER]) == [one, TRANSFER]


def test_an_entry_is_kept_for_seven_days_once_it_is_recorded_and_two_blocks_share_a_partition() -> None:
    waiting = {TransferState.UNRECORDED, TransferState.UNVALUED}
    assert all(entry(state=state).vanishes_at is None for state in waiting)
    for state in set(TransferState) - waiting:
        assert entry(state=state).vanishes_at == NOW + LOG_RETENTION == NOW + timedelta(days=7)
    assert [entry(number).partition for number in (1, 2, 3, 4)] == [0, 1, 1, 2]
    assert entry(16).key == LoggedTransfer.KEY.of(network="sepolia", partition=8, **vars(entry(16).transfer_id))


def test_an_entry_that_has_another_log_index_than_before_is_named() -> None:
    first, second, third = entry(1), entry(2), entry(3)
    before = replace(second, log_index=9, state=TransferState.PAYMENT, detected_at=NOW - timedelta(hours=1))
    assert find_reindexed([first, second, third], {first.transfer_id: first, second.transfer_id: before}) == [second]


@pytest.mark.parametrize(
    ("state", "is_work"),
    [(state, state in (TransferState.UNRECORDED, TransferState.REVERSED)) for state in TransferState],
)
def test_work_is_what_the_recorder_has_not_recorded_or_has_undone(state: TransferState, is_work: bool) -> None:
    first = entry(1)
    assert select_unrecorded([first], {first.transfer_id: replace(first, state=state)}) == ([first] if is_work else [])
    assert select_unrecorded([first], {}) == [first]


def test_work_is_divided_by_link_and_into_parts_that_fit_into_a_transaction() -> None:
    found = [entry(number) for number in range(1, 101)]
    parts = work(found, 7, NOW)
    assert [(part.payable_id, part.part, len(part.added)) for part in parts] == [
        *[("link1", index, size) for index, size in enumerate((10,) * 5)],
        *[("link0", index, size) for index, size in enumerate((10,) * 5)],
    ]
    assert {part.sequence for part in parts} == {7}
    assert all(part.removed == () for part in parts)
    for token in ("link0", "link1"):
        added = [each for part in parts if part.payable_id == token for each in part.added]
        assert added == [each.transfer_id for each in found if each.payable_id == token]
    assert parts[1].block_number == found[20].block_number, "the first block of the part"
    assert (TRANSFERS_PER_PART, REMOVALS_PER_PART) == (10, 6)


def test_the_order_of_the_keys_of_work_is_that_in_which_blocks_were_read() -> None:
    parts = [
        *work([entry(number) for number in range(1, 100, 2)], 9, NOW),
        *work([entry(101)], 10, NOW),
        *work_of_fork([entry(7)], [entry(9)], 11, NOW),
        *work([entry(3)], 100, NOW),
    ]
    keys = [part.key.sk for part in parts]
    assert keys == sorted(keys)
    assert {part.key.pk for part in parts} == {"UNRECORDED#link1"}


def test_the_same_work_has_the_same_key_and_other_work_another_one() -> None:
    (first,), (again,) = work([entry(1)], 7, NOW), work([entry(1)], 7, NOW + timedelta(hours=1))
    assert first.key == again.key
    (other,) = work([entry(1, block_hash="0xother")], 7, NOW)
    (removed,) = work_of_fork([entry(1)], [], 7, NOW)
    assert len({first.key, other.key, removed.key}) == 3
    assert len(first.digest) == 16, "a key is not longer than it must be"


def test_work_is_due_from_the_moment_at_which_it_was_written() -> None:
    (part,) = work([entry(1)], 7, NOW)
    assert part.next_due == NOW
    assert part.vanishes_at is None


@given(st.sets(st.integers(1, 60)), st.sets(st.integers(1, 60)), st.booleans())
def test_the_work_of_a_fork_has_each_transfer_once_and_one_that_moved_with_its_former_block(
    gone: set[int], came: set[int], same_block: bool
) -> None:
    removed = [entry(number) for number in sorted(gone)]
    added = [entry(number, block_hash="0xnew", block_number=number if same_block else number + 5) for number in sorted(came)]
    parts = work_of_fork(removed, added, 7, NOW)
    assert sorted(map(repr, _all(part.removed for part in parts))) == sorted(repr(each.transfer_id) for each in removed)
    assert sorted(map(repr, _all(part.added for part in parts))) == sorted(repr(each.transfer_id) for each in added)
    for part in parts:
        hashes = [{each.tx_hash for each in ids} for ids in (part.removed, part.added)]
        for number in gone & came:
            assert (f"0x{number:02}" in hashes[0]) == (f"0x{number:02}" in hashes[1])
        assert len(hashes[0] | hashes[1]) <= REMOVALS_PER_PART // 2
        assert len({_link_of(each.tx_hash) for each in (*part.removed, *part.added)}) == 1
        assert _link_of((*part.removed, *part.added)[0].tx_hash) == part.payable_id
    assert len({part.key for part in parts}) == len(parts)


def test_the_work_of_a_fork_has_what_vanished_first_the_newest_first_and_then_the_order_of_the_chain() -> None:
    removed, added = [entry(number) for number in range(1, 9, 2)], [entry(number) for number in range(11, 19, 2)]
    parts = work_of_fork(removed, added, 7, NOW)
    numbers = [(0, 0), (0, 1), (0, 2)]
    assert [(part.block_number, part.part) for part in parts] == numbers, "its order is not that of the blocks"
    assert [[each.block_number for each in part.removed] for part in parts] == [[7, 5, 3], [1], []]
    assert [[each.block_number for each in part.added] for part in parts] == [[], [11, 13], [15, 17]]


def _all(groups: Iterable[Iterable[object]]) -> list[object]:
    return [each for group in groups for each in group]


def _link_of(tx_hash: str) -> str:
    return f"link{int(tx_hash[2:]) % 2}"


@pytest.mark.parametrize(
    ("current", "state", "is_removed"),
    [
        ("0xb1", TransferState.PAYMENT, False),
        ("0xother", TransferState.PAYMENT, True),
        ("0xother", TransferState.UNRECORDED, True),
        ("0xother", TransferState.DUST, True),
        ("0xother", TransferState.REVERSED, True),
        (None, TransferState.PAYMENT, False),
    ],
)
def test_an_entry_is_removed_if_another_block_is_at_its_height(
    current: str | None, state: TransferState, is_removed: bool
) -> None:
    each = entry(1, state=state)
    assert find_removed([each], {1: current}, []) == ([each] if is_removed else [])


def test_a_block_that_was_not_asked_for_is_not_known_to_be_replaced() -> None:
    assert find_removed([entry(1)], {}, []) == []


@pytest.mark.parametrize("current", [None, "0xb1", "0xother"])
def test_an_entry_whose_transfer_is_in_another_block_now_is_removed_whatever_the_node_says_of_its_block(
    current: str | None,
) -> None:
    """Otherwise a payment that is only added up as dust would count in both blocks."""
    before = entry(1)
    assert find_removed([before], {1: current}, [entry(1, block_number=2, block_hash="0xnew")]) == [before]
    assert find_removed([before], {1: None}, [before]) == []


def test_a_transfer_that_is_in_a_new_block_has_not_vanished() -> None:
    moved, gone = entry(1), entry(2)
    another = entry(2, event_key="e-1")
    reversed_before = entry(3, state=TransferState.REVERSED)
    assert find_vanished([moved, gone, reversed_before], [entry(1, block_hash="0xnew"), another]) == [gone]


@pytest.mark.parametrize(
    ("block", "changes", "contradicts"),
    [
        (10, {}, True),
        (11, {}, True),
        (12, {}, False),
        (10, {"event_key": "e-1"}, False),
        (10, {"tx_hash": "0x02"}, False),
    ],
)
def test_a_receipt_in_the_replaced_blocks_contradicts_that_the_transfers_in_it_are_gone(
    block: int, changes: dict[str, str], contradicts: bool
) -> None:
    in_receipt = replace(TRANSFER, block_number=block, **{"event_key": "e-0", **changes})
    if contradicts:
        with pytest.raises(InconsistentNode) as error:
            check_vanished("sepolia", [entry(1)], [in_receipt], 11)
        assert error.value.reason == f"a transfer of 0x01 has a receipt in block {block}, but no event"
    else:
        check_vanished("sepolia", [entry(1)], [in_receipt], 11)


def test_a_transaction_without_a_receipt_contradicts_nothing() -> None:
    check_vanished("sepolia", [entry(1)], [], 11)


def test_work_holds_no_more_than_the_ids_of_its_transfers() -> None:
    """So one part of 10 is small, whatever the events hold."""
    (part,) = work([entry(number) for number in range(1, 20, 2)], 7, NOW)
    assert isinstance(part, UnrecordedTransfers)
    assert len(part.added) == 10
