"""Sweeps: what is due is read a hundred at once, and what fails leaves out nothing else."""

from collections.abc import Sequence

import pytest
from aws_lambda_powertools import Logger

from chalicelib.platform.storage.store import Throttled
from chalicelib.platform.storage.sweeping import Sweep, SweepIncomplete

LOG = Logger(service="test", level="CRITICAL")


def test_a_hundred_are_read_at_once_and_one_that_cannot_be_leaves_out_no_others() -> None:
    calls = list[int]()

    def read(ids: Sequence[str]) -> list[int]:
        calls.append(len(ids))
        return [int(each) for each in ids]

    with Sweep(LOG) as sweep:
        assert sweep.read(read, (str(each) for each in range(250))) == list(range(250))
        assert (calls, sweep.read(read, [])) == ([100, 100, 50], [])
    with pytest.raises(SweepIncomplete, match="1 records"), Sweep(LOG) as sweep:
        assert sweep.read(read, [*map(str, range(120)), "odd", "121"]) == [*range(120), 121]


def test_a_table_that_is_throttled_is_not_asked_for_each_record_apart() -> None:
    asked = list[int]()

    def read(ids: Sequence[str]) -> list[str]:
        asked.append(len(ids))
        raise Throttled

    with pytest.raises(Throttled), Sweep(LOG) as sweep:
        sweep.read(read, map(str, range(300)))
    assert asked == [100]
