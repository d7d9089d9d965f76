"""The memory of the functions follows from what they take (tests/bench/memory.py)."""

import pytest

from tests.bench.memory import ROOM, configured, run_once


@pytest.mark.parametrize("function", ["api_handler", "scan_chain", "sweep_outbox"])
def test_a_function_of_each_kind_has_room_above_its_peak(function: str) -> None:
    run = run_once(function)
    assert run.peak > 20  # Python alone takes about 10 MB
    assert configured()[function] >= max(run.least, ROOM * run.peak)
