"""Blocks read exactly once, and forks walked back to their ancestor."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chain.logs import BlockRange, Checkpoint
from chalicelib.scanning.records import Cursor
from chalicelib.scanning.rules import MAX_CHECKPOINTS, advance, cut_short, first_cursor, narrow, next_range, roll_back


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
            cursor = advance(cursor, Checkpoint(blocks.last, f"h{blocks.last}"), limit)
    assert read == list(range(first, max(head - confirmations + 2, first)))
    assert len(cursor.checkpoints) <= MAX_CHECKPOINTS


def test_the_range_before_is_read_once_more_where_there_is_room() -> None:
    cursor = Cursor("sepolia", 10, (), 100)
    for number in (20, 25):
        cursor = advance(cursor, Checkpoint(number, f"h{number}"), 100)
    assert next_range(cursor, 30, 1) == BlockRange(21, 30)
    assert next_range(replace(cursor, range_limit=5), 30, 1) == BlockRange(26, 30)


def test_a_refused_range_is_halved_and_the_limit_grows_back() -> None:
    cursor = narrow(narrow(Cursor("sepolia", 0, (), 100)))
    assert cursor.range_limit == 25
    for number in range(1, 60):
        cursor = advance(cursor, Checkpoint(number, "h"), 100)
    assert cursor.range_limit == 100
    assert narrow(Cursor("sepolia", 0, (), 1)).range_limit == 1


def test_a_range_that_is_cut_short_moves_the_cursor_as_far_as_all_is_done_and_halves_the_limit() -> None:
    cursor = advance(Cursor("sepolia", 10, (), 100), Checkpoint(20, "h20"), 100)
    cut = cut_short(cursor, Checkpoint(25, "h25"))
    assert (cut.scanned_to, cut.newest, cut.range_limit) == (25, Checkpoint(25, "h25"), 50)
    for done in (None, Checkpoint(20, "h20"), Checkpoint(15, "h15")):
        assert cut_short(cursor, done) == replace(cursor, range_limit=50)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=400))
def test_the_memory_of_checkpoints_is_short_and_reaches_far_back(steps: list[int]) -> None:
    cursor, number = Cursor("sepolia", 0, (), 10), 0
    for step in steps:
        number += step
        cursor = advance(cursor, Checkpoint(number, "h"), 10)
    numbers = [checkpoint.number for checkpoint in cursor.checkpoints]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == number
    assert len(numbers) <= MAX_CHECKPOINTS
    assert number - numbers[0] >= min((number - steps[0]) // 2, 1_000)


@given(st.integers(1, 40), st.integers(0, 40))
def test_a_fork_leads_back_to_the_newest_common_checkpoint(length: int, fork_at: int) -> None:
    cursor = Cursor("sepolia", 0, (), 10)
    for number in range(1, length + 1):
        cursor = advance(cursor, Checkpoint(number, f"a{number}"), 10)
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
    assert advance(Cursor("sepolia", 0, (), limit), Checkpoint(1, "h"), 100).range_limit == grown


def test_a_range_that_is_cut_short_grows_no_limit_before_it_is_halved() -> None:
    cut = cut_short(Cursor("sepolia", 10, (), 40), Checkpoint(25, "h25"))
    assert (cut.scanned_to, cut.range_limit) == (25, 20)


def test_a_fork_below_the_memory_is_read_again_from_before_the_oldest_checkpoint() -> None:
    checkpoints = (Checkpoint(10, "a10"), Checkpoint(20, "a20"))
    rolled = roll_back(Cursor("sepolia", 20, checkpoints, 5), {10: "b10", 20: "b20"})
    assert (rolled.scanned_to, rolled.checkpoints) == (9, ())
    assert roll_back(Cursor("sepolia", 20, (), 5), {}).scanned_to == 19
    assert roll_back(Cursor("sepolia", 0, (), 5), {}).scanned_to == 0


def test_of_the_newest_16_blocks_every_checkpoint_is_kept_and_of_older_ones_one_in_spans_of_2_4_and_8() -> None:
    cursor = Cursor("sepolia", 0, (), 10)
    for number in range(1, 101):
        cursor = advance(cursor, Checkpoint(number, f"h{number}"), 10)
    spans = [(1, 8), *((n, 8) for n in range(8, 40, 8)), *((n, 4) for n in range(40, 68, 4)), *((n, 2) for n in range(68, 84, 2))]
    kept = [checkpoint.number for checkpoint in cursor.checkpoints]
    assert kept[-17:] == list(range(84, 101))
    assert kept[:-17] == [start for start, _ in spans]


def test_no_more_than_64_checkpoints_are_kept_the_newest() -> None:
    cursor = Cursor("sepolia", 0, (), 10)
    for number in range(1, 3_000):
        cursor = advance(cursor, Checkpoint(number, f"h{number}"), 10)
    numbers = [checkpoint.number for checkpoint in cursor.checkpoints]
    assert (MAX_CHECKPOINTS, len(numbers)) == (64, 64)
    assert numbers[-16:] == list(range(2_984, 3_000))
