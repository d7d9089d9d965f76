"""Searching blocks of a chain for an event of the bridge, while the node refuses ranges that others have filled."""

import pytest

from chalicelib.chains.nodes.history.log_ranges import BlockRefused, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.payments.announcements.bridges.sources import RANGES_PER_CHECK, search_blocks


class Filled:
    """Returns the blocks of a range, unless so many of them are full that it has more events than `cap`."""

    def __init__(self, full: set[int], refuses_single: bool = False) -> None:
        self.full, self.refuses_single, self.asked = full, refuses_single, 0

    def read(self, blocks: BlockRange) -> tuple[int, ...]:
        self.asked += 1
        if self.full & set(range(blocks.first, blocks.last + 1)) and (blocks.count > 1 or self.refuses_single):
            raise RangeTooLarge("too many") if blocks.count > 1 else BlockRefused("too many")
        return tuple(range(blocks.first, blocks.last + 1))


@pytest.mark.parametrize("full", [{11}, {500}, {510, 511, 512}, set(range(100, 130)), {1010}])
def test_blocks_that_others_filled_are_searched_one_by_one_and_every_block_is_searched_once(full: set[int]) -> None:
    node, last, found = Filled(full), 10, list[int]()
    for _ in range(30):
        before = node.asked
        for blocks, numbers in search_blocks(node.read, last, 1010, 1000):
            found += numbers
            last = blocks.last
        assert node.asked - before <= RANGES_PER_CHECK + 10, "each halving is one request"
    assert found == list(range(11, 1011))


def test_a_single_block_that_is_refused_is_told() -> None:
    with pytest.raises(BlockRefused):
        list(search_blocks(Filled({11}, refuses_single=True).read, 10, 1010, 1000))
