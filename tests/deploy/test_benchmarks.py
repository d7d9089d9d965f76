"""Every part of `make bench` gives its figures. What they are depends on the machine and is not judged."""

import pytest

from tests.bench import detection, figures, imports, load, wallet_reads
from tests.bench.__main__ import PARTS
from tests.bench.deployment import local_settings


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_benchmarks_gives_figures_with_goals(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in local_settings().items():
        monkeypatch.setenv(name, value)
    for module in (imports, wallet_reads):
        monkeypatch.setattr(module, "STARTS", 1)
    monkeypatch.setattr(detection, "SIZES", (10, 100))
    monkeypatch.setattr(figures, "ROUNDS", 1)
    measure = PARTS[part].measure
    found = load.measure(seconds=10, dust=1_000) if measure is load.measure else measure()
    assert found
    assert all(each.goal is not None for each in found)
    assert len({each.key for each in found}) == len(found)
    assert figures.table(found)
