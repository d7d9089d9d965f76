"""A short form of the simulation of `make bench`: the scanner and the recorder keep up, with dust to one link and without."""

import pytest

from tests.bench.load import RATE, TICK, simulate

SECONDS = 10


@pytest.mark.parametrize("dust_per_second", [0, 5 * RATE])
def test_100_payments_a_second_are_recorded_within_two_ticks_of_their_confirmation(dust_per_second: int) -> None:
    load = simulate(SECONDS, dust_per_second)
    assert load.payments == SECONDS * RATE
    assert load.blocks_behind == 0
    assert load.p99 <= 2 * TICK.total_seconds()
    assert load.longest_tick <= TICK.total_seconds()
    assert load.calls_per_payment <= 0.11  # 0.109 without dust, in virtual time and so the same in every run
