"""How it is known that blocks have no more payments than were found in them, and of which blocks that is not proved.

What is proved needs no second reading. All other blocks are in a list of ranges beside the cursor, which is bounded:
neighbours of the same evidence are one range, and of too many the two with the fewest blocks between them become one.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.payments.scanning.records import Evidence, Weak, WeakRange

MOST_RANGES = 16
JOINED_WITHIN = timedelta(hours=12)
"""Neighbours are one range if their first blocks were read within this time, so that `since` says something."""
FORGOTTEN_AFTER = timedelta(days=3)
"""What could not be proved for so long stays as it was read; the log of its transfers vanishes soon."""
PROVED_AFTER, TRIED_AGAIN_AFTER = timedelta(minutes=10), timedelta(hours=1)
"""When a proof of unproved blocks is looked for, and again if there was none."""


def read_first(weak: Weak, blocks: BlockRange, evidence: Evidence, now: datetime) -> Weak:
    """The list after blocks were read for the first time; they are above those that it has."""
    if evidence.is_proof:
        return weak
    return _bound_ranges(_join_ranges([*weak, WeakRange(blocks.first, blocks.last, evidence, now)]))


def read_again(weak: Weak, blocks: BlockRange, evidence: Evidence, now: datetime) -> Weak:
    """The list after blocks in it were read again. That takes away nothing that was known of them."""
    found = list[WeakRange]()
    for each in weak:
        first, last = max(each.first, blocks.first), min(each.last, blocks.last)
        if first > last:
            found.append(each)
            continue
        inside = replace(each, first=first, last=last)
        if evidence is Evidence.CORROBORATED and each.is_unproved:
            inside = replace(inside, evidence=evidence, tried_at=None)
        elif evidence is Evidence.UNPROVED:
            inside = replace(inside, tried_at=now)
        parts = [replace(each, last=first - 1), *([] if evidence.is_proof else [inside]), replace(each, first=last + 1)]
        found += [part for part in parts if part.count > 0]
    return _bound_ranges(_join_ranges(found))


def doubt_blocks(weak: Weak, blocks: BlockRange, now: datetime) -> Weak:
    """The list after blocks that were read before were said to have more than was known of them: they are unproved."""
    others = read_again(weak, blocks, Evidence.PROVED_BY_BLOOM, now)
    fresh = WeakRange(blocks.first, blocks.last, Evidence.UNPROVED, now)
    return _bound_ranges(_join_ranges(sorted([*others, fresh], key=lambda each: each.first)))


def remove_after(weak: Weak, last: int) -> Weak:
    """The list without the blocks after the last one that a fork left."""
    return tuple(replace(each, last=min(each.last, last)) for each in weak if each.first <= last)


def prune(weak: Weak, read_again_to: int, now: datetime) -> Weak:
    """The list without ranges that are corroborated and were read again, up to a block, and without what is old."""
    return tuple(
        each for each in weak if now - each.since < FORGOTTEN_AFTER and (each.is_unproved or each.last > read_again_to)
    )


def first_weak(weak: Weak, blocks: BlockRange) -> BlockRange | None:
    """The first of the blocks that are not proved, as far as they are in one range; None if all are."""
    inside = (each for each in weak if each.last >= blocks.first and each.first <= blocks.last)
    found = next(inside, None)
    return None if found is None else BlockRange(max(found.first, blocks.first), min(found.last, blocks.last))


def to_prove(weak: Weak, most: int, now: datetime) -> BlockRange | None:
    """The next unproved blocks to look for a proof of; None if none are due."""
    for each in weak:
        since = each.since + PROVED_AFTER if each.tried_at is None else each.tried_at + TRIED_AGAIN_AFTER
        if each.is_unproved and now >= since:
            return BlockRange(each.first, min(each.first + most - 1, each.last))
    return None


def count_unproved(weak: Weak) -> tuple[int, datetime | None]:
    """How many blocks are unproved, and since when the first of them is."""
    found = [each for each in weak if each.is_unproved]
    return sum(each.count for each in found), min((each.since for each in found), default=None)


def _join_ranges(ranges: list[WeakRange]) -> Weak:
    found = list[WeakRange]()
    for each in ranges:
        before = found[-1] if found else None
        is_alike = before is not None and before.evidence is each.evidence and before.tried_at == each.tried_at
        if before and is_alike and before.last + 1 == each.first and each.since - before.since < JOINED_WITHIN:
            found[-1] = replace(before, last=each.last)
        else:
            found.append(each)
    return tuple(found)


def _bound_ranges(weak: Weak) -> Weak:
    """At most MOST_RANGES of them; what is between two that become one is taken for as weak as the weaker one."""
    while len(weak) > MOST_RANGES:
        gaps = [after.first - before.last for before, after in pairwise(weak)]
        at = gaps.index(min(gaps))
        before, after = weak[at], weak[at + 1]
        evidence = Evidence.UNPROVED if before.is_unproved or after.is_unproved else Evidence.CORROBORATED
        tried_at = before.tried_at if before.tried_at == after.tried_at else None
        joined = WeakRange(before.first, after.last, evidence, min(before.since, after.since), tried_at)
        weak = (*weak[:at], joined, *weak[at + 2 :])
    return weak
