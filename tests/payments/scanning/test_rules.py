"""Blocks read exactly once, and forks walked back to their ancestor."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.readings import NodeView
from chalicelib.payments.scanning.records import Cursor, Evidence, NextTarget, NodeCheck, ScanLease, Verification
from chalicelib.payments.scanning.rules import (
    LEASE,
    MAX_CHECKPOINTS,
    OLDEST_TICK,
    VERIFIED_AFTER,
    advance,
    begin_at,
    blocks_to_verify,
    compare_nodes,
    first_cursor,
    height_of_confirmed,
    is_late,
    is_outdated,
    lag,
    last_logged,
    mark_verified,
    narrow,
    next_range,
    roll_back,
    take_lease,
    with_verifications,
)
from infra.configuration import functions_of, stages

NOW = datetime(2026, 3, 15, 10, 0, tzinfo=UTC)
TIME = NOW - timedelta(seconds=24)


@given(st.integers(0, 50), st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 9), st.integers(1, 7))
def test_every_confirmed_block_is_read_exactly_once_and_in_order(
    start: int, growth: list[int], confirmations: int, limit: int
) -> None:
    head = start
    cursor = first_cursor("sepolia", head, confirmations, limit)
    first, read = cursor.scanned_to + 1, []
    for more in growth:
        head += more
        while (blocks := next_range(cursor, head, confirmations)) is not None:
            assert blocks.last - blocks.first < limit
            assert blocks.first <= cursor.scanned_to + 1
            read += range(max(blocks.first, cursor.scanned_to + 1), blocks.last + 1)
            cursor = advance(cursor, Checkpoint(blocks.last, f"h{blocks.last}"), TIME, limit, NOW, Evidence.UNPROVED)
    assert read == list(range(first, max(head - confirmations + 2, first)))
    assert len(cursor.checkpoints) <= MAX_CHECKPOINTS


def test_the_range_before_is_read_once_more_where_there_is_room() -> None:
    cursor = Cursor("sepolia", 10, (), 100)
    for number in (20, 25):
        cursor = advance(cursor, Checkpoint(number, f"h{number}"), TIME, 100, NOW, Evidence.UNPROVED)
    assert next_range(cursor, 30, 1) == BlockRange(21, 30)
    assert next_range(replace(cursor, range_limit=5), 30, 1) == BlockRange(26, 30)


def test_a_refused_range_is_halved_and_the_limit_grows_back() -> None:
    cursor = narrow(Cursor("sepolia", 0, (), 100), BlockRange(1, 50))
    assert cursor.range_limit == 25
    for number in range(1, 60):
        cursor = advance(cursor, Checkpoint(number, "h"), TIME, 100, NOW, Evidence.UNPROVED)
    assert cursor.range_limit == 100
    assert narrow(Cursor("sepolia", 0, (), 1), BlockRange(7, 7)).range_limit == 1
    assert advance(cursor, Checkpoint(60, "h"), TIME, 100, NOW, Evidence.UNPROVED, is_full=True).range_limit == 1


@given(st.lists(st.integers(1, 500), min_size=1, max_size=400))
def test_the_memory_of_checkpoints_is_short_and_reaches_far_back(steps: list[int]) -> None:
    cursor, number = Cursor("sepolia", 0, (), 10), 0
    for step in steps:
        number += step
        cursor = advance(cursor, Checkpoint(number, "h"), TIME, 10, NOW, Evidence.UNPROVED)
    numbers = [checkpoint.number for checkpoint in cursor.checkpoints]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == number
    assert len(numbers) <= MAX_CHECKPOINTS
    assert number - numbers[0] >= min((number - steps[0]) // 2, 1_000)


@given(st.integers(1, 40), st.integers(0, 40))
def test_a_fork_leads_back_to_the_newest_common_checkpoint(length: int, fork_at: int) -> None:
    cursor = Cursor("sepolia", 0, (), 10)
    for number in range(1, length + 1):
        cursor = advance(cursor, Checkpoint(number, f"a{number}"), TIME, 10, NOW, Evidence.UNPROVED)
    canonical = {n: f"a{n}" if n <= fork_at else f"b{n}" for n in range(1, length + 1)}
    rolled = roll_back(cursor, canonical)
    common = [c.number for c in cursor.checkpoints if c.number <= fork_at]
    assert rolled.scanned_to == (common[-1] if common else cursor.checkpoints[0].number - 1)
    assert all(canonical[c.number] == c.hash for c in rolled.checkpoints)


def test_a_chain_that_is_shorter_than_a_range_is_read_from_its_second_block() -> None:
    assert first_cursor("sepolia", 3, 2, 100) == Cursor("sepolia", 0, (), 100)
    assert first_cursor("sepolia", 500, 2, 100) == Cursor("sepolia", 399, (), 100)


def test_the_range_before_is_read_once_more_only_where_both_fit_into_the_limit() -> None:
    cursor = Cursor("sepolia", 25, (Checkpoint(20, "h20"), Checkpoint(25, "h25")), 10)
    assert next_range(cursor, 30, 1) == BlockRange(21, 30), "ten blocks"
    assert next_range(cursor, 31, 1) == BlockRange(26, 31), "eleven would be too many"
    assert next_range(replace(cursor, checkpoints=cursor.checkpoints[1:]), 30, 1) == BlockRange(26, 30)


@pytest.mark.parametrize(("limit", "grown"), [(1, 2), (15, 16), (16, 18), (31, 33), (32, 35), (98, 100), (100, 100)])
def test_a_limit_grows_by_a_sixteenth_and_one(limit: int, grown: int) -> None:
    assert advance(Cursor("sepolia", 0, (), limit), Checkpoint(1, "h"), TIME, 100, NOW, Evidence.UNPROVED).range_limit == grown


def test_a_fork_below_all_checkpoints_is_read_again_from_a_range_before_the_oldest() -> None:
    checkpoints = (Checkpoint(10, "a10"), Checkpoint(20, "a20"))
    rolled = roll_back(Cursor("sepolia", 20, checkpoints, 5), {10: "b10", 20: "b20"})
    assert (rolled.scanned_to, rolled.checkpoints) == (5, ())
    assert roll_back(Cursor("sepolia", 20, (), 5), {}).scanned_to == 15
    unfinished = Cursor("sepolia", 20, (), 5, unfinished=BlockRange(18, 25))
    assert roll_back(unfinished, {}).scanned_to == 12, "a range before the block before the unfinished ones"
    assert roll_back(Cursor("sepolia", 3, (), 5), {}).scanned_to == 0


def test_a_checkpoint_whose_block_the_node_does_not_have_says_nothing() -> None:
    cursor = Cursor("sepolia", 30, (Checkpoint(10, "a10"), Checkpoint(20, "a20"), Checkpoint(30, "a30")), 5)
    for canonical in ({10: "a10", 20: None, 30: "b30"}, {10: "a10", 30: "b30"}):
        rolled = roll_back(cursor, canonical)
        assert (rolled.scanned_to, rolled.checkpoints) == (10, (Checkpoint(10, "a10"),))


def test_a_cursor_goes_back_before_its_unfinished_blocks_whatever_checkpoints_are_canonical() -> None:
    checkpoints = (Checkpoint(10, "a10"), Checkpoint(20, "a20"), Checkpoint(30, "a30"))
    canonical: dict[int, str | None] = {10: "a10", 20: "a20", 30: "a30"}
    for first, last, scanned_to in ((31, 40, 30), (30, 40, 20), (21, 25, 20), (11, 12, 10), (5, 9, 0)):
        cursor = Cursor("sepolia", 30, checkpoints, 5, unfinished=BlockRange(first, last))
        assert roll_back(cursor, canonical).scanned_to == scanned_to
        assert last_logged(cursor) == max(last, 30)
    assert roll_back(Cursor("sepolia", 30, checkpoints, 5), canonical).scanned_to == 30
    assert last_logged(Cursor("sepolia", 30, checkpoints, 5)) == 30


def test_a_cursor_that_advanced_has_no_unfinished_blocks() -> None:
    cursor = Cursor("sepolia", 30, (), 5, unfinished=BlockRange(31, 35))
    assert advance(cursor, Checkpoint(35, "h35"), TIME, 5, NOW, Evidence.UNPROVED).unfinished is None


def test_of_the_newest_16_blocks_every_checkpoint_is_kept_and_of_older_ones_one_in_spans_of_2_4_and_8() -> None:
    cursor = Cursor("sepolia", 0, (), 10)
    for number in range(1, 101):
        cursor = advance(cursor, Checkpoint(number, f"h{number}"), TIME, 10, NOW, Evidence.UNPROVED)
    spans = [
        (1, 8),
        *((n, 8) for n in range(8, 40, 8)),
        *((n, 4) for n in range(40, 68, 4)),
        *((n, 2) for n in range(68, 84, 2)),
    ]
    kept = [checkpoint.number for checkpoint in cursor.checkpoints]
    assert kept[-17:] == list(range(84, 101))
    assert kept[:-17] == [start for start, _ in spans]


def test_no_more_than_64_checkpoints_are_kept_the_newest() -> None:
    cursor = Cursor("sepolia", 0, (), 10)
    for number in range(1, 3_000):
        cursor = advance(cursor, Checkpoint(number, f"h{number}"), TIME, 10, NOW, Evidence.UNPROVED)
    numbers = [checkpoint.number for checkpoint in cursor.checkpoints]
    assert (MAX_CHECKPOINTS, len(numbers)) == (64, 64)
    assert numbers[-16:] == list(range(2_984, 3_000))


def test_a_cursor_has_the_time_of_its_newest_block_and_when_it_was_read() -> None:
    cursor = advance(Cursor("sepolia", 0, (), 10), Checkpoint(7, "h7"), TIME, 10, NOW, Evidence.UNPROVED)
    assert (cursor.scanned_to, cursor.read_until, cursor.read_at) == (7, TIME, NOW)
    assert lag(cursor, NOW) == timedelta(seconds=24)
    assert lag(Cursor("sepolia", 7, (), 10), NOW) is None


@pytest.mark.parametrize(("head", "confirmations", "confirmed"), [(100, 1, 100), (100, 2, 99), (100, 12, 89)])
def test_the_newest_block_is_one_deep(head: int, confirmations: int, confirmed: int) -> None:
    assert height_of_confirmed(head, confirmations) == confirmed


def test_a_lease_lasts_60_seconds_and_is_taken_over_when_it_has_ended() -> None:
    first = take_lease(None, "sepolia", NOW)
    assert first == ScanLease("sepolia", NOW + LEASE)
    assert timedelta(seconds=60) == LEASE
    stored = replace(first, version=3)
    assert take_lease(stored, "sepolia", NOW + LEASE - timedelta(milliseconds=1)) is None
    assert take_lease(stored, "sepolia", NOW + LEASE) == ScanLease("sepolia", NOW + 2 * LEASE, version=3)


@pytest.mark.parametrize(("seconds", "outdated"), [(-60, False), (0, False), (30, False), (30.001, True)])
def test_a_tick_is_outdated_after_30_seconds(seconds: float, outdated: bool) -> None:
    assert timedelta(seconds=30) == OLDEST_TICK
    assert is_outdated(NOW, NOW + timedelta(seconds=seconds)) is outdated


def test_the_blocks_that_were_read_are_read_again_after_10_minutes_and_after_6_hours() -> None:
    assert (timedelta(minutes=10), timedelta(hours=6)) == VERIFIED_AFTER
    cursor = with_verifications(Cursor("sepolia", 100, (), 40), NOW)
    assert cursor.verifications == (Verification(100, 100, NOW),) * 2, "what was read before is not read again"
    cursor = with_verifications(replace(cursor, scanned_to=190), NOW)
    assert cursor.verifications == (Verification(100, 190, NOW),) * 2
    for index, age in enumerate(VERIFIED_AFTER):
        assert blocks_to_verify(cursor, index, NOW + age - timedelta(milliseconds=1)) is None
        assert blocks_to_verify(cursor, index, NOW + age) == (BlockRange(101, 140), True)


def test_a_verification_reads_ranges_up_to_its_target_and_then_gets_the_next_target() -> None:
    cursor = with_verifications(Cursor("sepolia", 100, (), 40), NOW)
    cursor = with_verifications(replace(cursor, scanned_to=190), NOW)
    later = NOW + timedelta(hours=1)
    read = []
    while due := blocks_to_verify(cursor, 0, later):
        blocks, is_weak = due
        assert is_weak, "a cursor without evidence is of code that had none"
        read.append((blocks.first, blocks.last))
        cursor = mark_verified(cursor, 0, blocks.last)
        moved = with_verifications(replace(cursor, scanned_to=300), later)
        assert moved.verifications[0].target == (300 if blocks.last == 190 else 190)
    assert read == [(101, 140), (141, 180), (181, 190)]
    assert mark_verified(cursor, 1, 120).verifications == (Verification(190, 190, NOW), Verification(120, 190, NOW))
    moved = with_verifications(replace(cursor, scanned_to=300), later)
    assert moved.verifications == (Verification(190, 300, later), Verification(100, 190, NOW))
    assert moved.next_targets == (NextTarget(1, 300, later),)


@pytest.mark.parametrize(("index", "tick"), [(0, 5), (0, 60), (1, 60)])
def test_each_block_is_read_again_at_most_a_tenth_of_the_time_later_than_it_is_due(index: int, tick: int) -> None:
    """A block every `tick` seconds, which may be the first after a target."""
    cursor, age = with_verifications(Cursor("sepolia", 0, (), 40), NOW), VERIFIED_AFTER[index]
    read_at, late, most = dict[int, datetime](), list[timedelta](), 0
    for number in range(1, 3 * int(age.total_seconds()) // tick):
        now = NOW + number * timedelta(seconds=tick)
        read_at[number] = now
        cursor = with_verifications(replace(cursor, scanned_to=number), now)
        most = max(most, len([each for each in cursor.next_targets if each.number == index]))
        while due := blocks_to_verify(cursor, index, now):
            late += [now - read_at[each] - age for each in range(due[0].first, due[0].last + 1)]
            cursor = mark_verified(cursor, index, due[0].last)
    assert len(late) > 15
    assert timedelta(0) <= min(late)
    assert max(late) <= age / 10 + timedelta(seconds=tick)
    assert most <= 10


def test_a_verification_that_is_held_up_has_few_targets_as_every_tick_writes_the_cursor() -> None:
    cursor = with_verifications(Cursor("sepolia", 0, (), 40), NOW)
    for number in range(1, 1000):
        cursor = with_verifications(replace(cursor, scanned_to=number), NOW + number * timedelta(minutes=1))
    assert len(cursor.next_targets) == 20


def test_a_lease_lasts_as_long_as_the_function_may_run_so_that_no_two_ticks_of_a_network_write_at_once() -> None:
    timeouts = {functions_of(stage)["scan_chain"]["lambda_timeout"] for stage in stages()}
    assert max(timeouts) <= LEASE.total_seconds()


def view(host: str, head: int | None, **hashes: str | None) -> NodeView:
    """What a node says; a block's name is b and its number."""
    return NodeView(host, head, {int(name[1:]): hash for name, hash in hashes.items()})


TWO_SECONDS, MINUTES = timedelta(seconds=2), timedelta(minutes=5)


@pytest.mark.parametrize(
    ("block_time", "heads", "usable", "wrong"),
    [
        (TWO_SECONDS, (100, 100), 2, ""),
        (TWO_SECONDS, (100, 70), 2, ""),
        (TWO_SECONDS, (100, 69), 1, "n1 is behind"),
        (TWO_SECONDS, (69, 100), 1, "n0 is behind"),
        (MINUTES, (100, 97), 2, ""),
        (MINUTES, (100, 96), 1, "n1 is behind"),
        (TWO_SECONDS, (100, None), 1, "n1 does not answer"),
        (TWO_SECONDS, (None, None), 0, "n0 does not answer, n1 does not answer"),
        (TWO_SECONDS, (None, 60, 100, 0), 1, "n0 does not answer, n1 is behind, n3 is behind"),
    ],
)
def test_a_node_is_usable_if_it_answers_and_is_at_most_a_minute_or_three_blocks_behind(
    block_time: timedelta, heads: tuple[int | None, ...], usable: int, wrong: str
) -> None:
    views = [view(f"n{number}", head) for number, head in enumerate(heads)]
    assert compare_nodes(views, block_time) == (NodeCheck(len(heads), usable, agree=True), wrong)


def test_nodes_with_different_hashes_of_a_block_disagree_and_a_node_without_the_block_says_nothing() -> None:
    one, missing = view("n0", 9, b8="8", b9="9"), view("n1", 8, b8="8", b9=None)
    assert compare_nodes([one, missing], TWO_SECONDS) == (NodeCheck(2, 2, agree=True), "")
    other = view("n2", 9, b8="8", b9="x")
    check, wrong = compare_nodes([one, missing, other], TWO_SECONDS)
    assert (check, wrong) == (NodeCheck(3, 3, agree=False), "block 9 is 9 at n0 and x at n2")
    check, wrong = compare_nodes([one, view("n1", None), other], TWO_SECONDS)
    assert (check, wrong) == (NodeCheck(3, 2, agree=False), "n1 does not answer, block 9 is 9 at n0 and x at n2")


@pytest.mark.parametrize(("age", "late"), [(0, False), (144, False), (144.001, True)])
def test_a_network_is_late_after_twice_what_confirmations_and_a_minute_explain(age: float, late: bool) -> None:
    """Six blocks of 2 seconds and a minute are 72 seconds."""
    cursor = replace(Cursor("sepolia", 7, (), 10), read_until=TIME)
    assert is_late(cursor, 6, TWO_SECONDS, TIME + timedelta(seconds=age)) is late


def test_a_network_that_was_never_read_is_not_late() -> None:
    assert not is_late(None, 6, TWO_SECONDS, NOW)
    assert not is_late(Cursor("sepolia", 7, (), 10), 6, TWO_SECONDS, NOW)


def test_reading_begins_at_the_block_that_is_asked_for_unless_that_is_newer() -> None:
    cursor = Cursor("sepolia", 100, (), 10)
    assert [begin_at(cursor, block).scanned_to for block in (0, 99, 100, 101)] == [0, 99, 100, 100]
