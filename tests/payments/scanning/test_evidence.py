"""The list of blocks that are not proved: what it knows of each, how long it gets, and what is tried when."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.payments.scanning.evidence import (
    FORGOTTEN_AFTER,
    JOINED_WITHIN,
    MOST_RANGES,
    PROVED_AFTER,
    TRIED_AGAIN_AFTER,
    count_unproved,
    doubt_blocks,
    first_weak,
    prune,
    read_again,
    read_first,
    remove_after,
    to_prove,
)
from chalicelib.payments.scanning.records import Evidence, Weak, WeakRange

NOW = datetime(2026, 3, 15, 10, tzinfo=UTC)
UNPROVED, CORROBORATED, BLOOM, RECEIPTS = Evidence
STRENGTH = {UNPROVED: 0, CORROBORATED: 1, BLOOM: 2, RECEIPTS: 2}


def weakness(weak: Weak, block: int) -> Evidence | None:
    found = [each.evidence for each in weak if each.first <= block <= each.last]
    assert len(found) <= 1
    return found[0] if found else None


READINGS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(Evidence)), min_size=1, max_size=60)
LATER = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30), st.sampled_from(Evidence)), max_size=20)


@given(READINGS, LATER)
def test_no_block_is_taken_for_better_known_than_it_is_and_the_list_stays_short(
    readings: list[tuple[int, Evidence]], later: list[tuple[int, int, Evidence]]
) -> None:
    weak: Weak = ()
    known = list[Evidence]()
    for count, evidence in readings:
        weak = read_first(weak, BlockRange(len(known), len(known) + count - 1), evidence, NOW)
        known += [evidence] * count
    for first, more, evidence in later:
        weak = read_again(weak, BlockRange(first, first + more), evidence, NOW)
        for block in range(first, min(first + more + 1, len(known))):
            known[block] = max(known[block], evidence, key=lambda each: STRENGTH[each])
    assert len(weak) <= MOST_RANGES
    assert [each.first for each in weak] == sorted(each.first for each in weak)
    for block, evidence in enumerate(known):
        said = weakness(weak, block)
        assert STRENGTH[evidence] >= (2 if said is None else STRENGTH[said])


@given(READINGS)
def test_few_ranges_are_known_exactly(readings: list[tuple[int, Evidence]]) -> None:
    weak: Weak = ()
    known = list[Evidence]()
    for count, evidence in readings[:MOST_RANGES]:
        weak = read_first(weak, BlockRange(len(known), len(known) + count - 1), evidence, NOW)
        known += [evidence] * count
    for block, evidence in enumerate(known):
        assert weakness(weak, block) == (None if evidence.is_proof else evidence)


def test_a_network_with_one_node_has_few_ranges_however_long_it_is_read() -> None:
    weak: Weak = ()
    for hour in range(24 * 10):
        now = NOW + timedelta(hours=hour)
        weak = prune(read_first(weak, BlockRange(hour * 100, hour * 100 + 99), UNPROVED, now), -1, now)
    assert len(weak) <= FORGOTTEN_AFTER / JOINED_WITHIN + 1
    count, since = count_unproved(weak)
    assert since is not None and timedelta(days=2) < now - since <= FORGOTTEN_AFTER
    assert 48 * 100 < count <= 72 * 100


def test_a_proof_of_blocks_in_the_middle_leaves_those_at_both_sides() -> None:
    weak = read_first((), BlockRange(1, 100), UNPROVED, NOW)
    assert read_again(weak, BlockRange(40, 59), BLOOM, NOW) == (
        WeakRange(1, 39, UNPROVED, NOW), WeakRange(60, 100, UNPROVED, NOW),
    )  # fmt: skip
    assert read_again(weak, BlockRange(0, 200), RECEIPTS, NOW) == ()
    assert read_again(weak, BlockRange(101, 200), RECEIPTS, NOW) == weak


def test_a_reading_that_proves_nothing_takes_away_nothing_and_is_noted() -> None:
    weak = read_first((), BlockRange(1, 9), CORROBORATED, NOW)
    later = NOW + timedelta(hours=1)
    assert read_again(weak, BlockRange(1, 9), UNPROVED, later) == (WeakRange(1, 9, CORROBORATED, NOW, later),)
    weak = read_first((), BlockRange(1, 9), UNPROVED, NOW)
    assert read_again(weak, BlockRange(1, 9), UNPROVED, later) == (WeakRange(1, 9, UNPROVED, NOW, later),)
    assert read_again(weak, BlockRange(1, 9), CORROBORATED, later) == (WeakRange(1, 9, CORROBORATED, NOW),)


def test_unproved_blocks_are_tried_after_ten_minutes_and_again_after_an_hour_the_oldest_first() -> None:
    weak = read_first((), BlockRange(1, 500), UNPROVED, NOW)
    assert to_prove(weak, 200, NOW + PROVED_AFTER - timedelta(seconds=1)) is None
    later = NOW + PROVED_AFTER
    assert to_prove(weak, 200, later) == BlockRange(1, 200)
    weak = read_again(weak, BlockRange(1, 200), UNPROVED, later)
    assert to_prove(weak, 200, later) == BlockRange(201, 400), "one that fails does not hold up the others"
    weak = read_again(read_again(weak, BlockRange(201, 400), BLOOM, later), BlockRange(401, 500), CORROBORATED, later)
    assert to_prove(weak, 200, later) is None
    assert to_prove(weak, 200, later + TRIED_AGAIN_AFTER) == BlockRange(1, 200)


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        (BlockRange(1, 9), None),
        (BlockRange(5, 15), BlockRange(10, 15)),
        (BlockRange(12, 30), BlockRange(12, 20)),
        (BlockRange(21, 40), BlockRange(31, 40)),
    ],
)
def test_the_first_of_blocks_that_is_not_proved_is_found(blocks: BlockRange, found: BlockRange | None) -> None:
    weak = (WeakRange(10, 20, CORROBORATED, NOW), WeakRange(31, 50, UNPROVED, NOW))
    assert first_weak(weak, blocks) == found


def test_what_a_fork_replaced_is_not_known_any_more() -> None:
    weak = (WeakRange(10, 20, CORROBORATED, NOW), WeakRange(31, 50, UNPROVED, NOW))
    assert remove_after(weak, 40) == (weak[0], WeakRange(31, 40, UNPROVED, NOW))
    assert remove_after(weak, 15) == (WeakRange(10, 15, CORROBORATED, NOW),)


def test_blocks_that_have_more_than_was_known_are_unproved_whatever_they_were() -> None:
    weak = (WeakRange(10, 20, CORROBORATED, NOW),)
    assert doubt_blocks(weak, BlockRange(15, 25), NOW) == (WeakRange(10, 14, CORROBORATED, NOW), WeakRange(15, 25, UNPROVED, NOW))


def test_what_was_corroborated_and_read_again_is_done_and_what_is_unproved_stays_for_three_days() -> None:
    weak = (WeakRange(10, 20, CORROBORATED, NOW), WeakRange(21, 30, UNPROVED, NOW), WeakRange(31, 40, CORROBORATED, NOW))
    assert prune(weak, 30, NOW) == weak[1:]
    assert prune(weak, 5, NOW + FORGOTTEN_AFTER) == ()


def test_one_node_is_never_a_proof() -> None:
    assert [each for each in Evidence if each.is_proof] == [BLOOM, RECEIPTS]
