"""`make bench`: what it prints of goals, of the release before and of peers that cannot run. test_benchmarks.py measures."""

import json

import pytest

from tests.bench import __main__ as bench
from tests.bench.__main__ import PARTS, RELEASED, Part, main, merge
from tests.bench.figures import Figure, table
from tests.oracles.node import served

KEPT = Figure("kept", 1, "us", "the other", 10, 0.1)
MISSED = Figure("missed", 2, "us", "the other", 10, 0.1)
TOO_LITTLE = Figure("too little", 9, "executions", "one for each", 10, 1, least=1)
LOADED = Figure("without a goal", 9, "ms", "the other", 1)


def test_a_part_that_there_is_not_is_refused_with_the_names_of_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--part", "nothing"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"There is no part 'nothing'. The parts are: {', '.join(PARTS)}.\n")


def test_a_goal_is_a_number_and_what_is_below_the_least_misses_it_too() -> None:
    assert [each.is_missed for each in (KEPT, MISSED, TOO_LITTLE, LOADED)] == [False, True, True, False]


def test_missed_goals_stand_at_the_top_with_goal_and_figure() -> None:
    head, *rows = table([KEPT, MISSED, LOADED, TOO_LITTLE]).splitlines()
    assert head.split() == ["goal", "figure"]
    assert [" ".join(row.split()) for row in rows] == [
        "missed <= 0.1 0.2 x missed 2 us the other: 10",
        "missed 1 to 1 0.9 x too little 9 executions one for each: 10",
        "<= 0.1 0.1 x kept 1 us the other: 10",
        "9 x without a goal 9 ms the other: 1",
    ]


@pytest.mark.parametrize(("before", "is_named"), [(0.0953, False), (0.0951, True), (0.2, False)])
def test_a_ratio_that_is_more_than_a_twentieth_above_the_released_one_is_called_worse(
    before: float, is_named: bool
) -> None:
    assert (f"(worse: was {before})" in table([KEPT], {KEPT.key: before})) == is_named


def test_a_peer_that_cannot_run_is_named_and_the_other_figures_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask_what_is_not_installed() -> list[Figure]:
        return [Figure("none", float(served("not_installed.js")), "us", "the peer", 1)]

    monkeypatch.setattr(
        bench, "PARTS", {"one": Part("", ask_what_is_not_installed, "npm not-installed"), "two": Part("", lambda: [MISSED])}
    )
    figures = bench.measure(["one", "two"])
    assert [each.name for each in figures] == ["two: missed"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("one is left out: npm not-installed cannot run here (Error: Cannot find module ")


def test_a_record_replaces_the_ratios_of_the_parts_that_were_measured_and_keeps_the_others() -> None:
    released = {"cold: gone, ms / x": 0.5, "gas: one, gas / x": 0.7}
    measured = [Figure("cold: app", 1, "ms", "x", 3, 1, note=" (of today)")]
    assert merge(measured, released) == {"cold: app, ms / x": 0.333, "gas: one, gas / x": 0.7}


def test_the_released_figures_are_ratios_of_the_parts_that_there_are() -> None:
    ratios = json.loads(RELEASED.read_text())
    assert all(isinstance(each, int | float) for each in ratios.values())
    assert {key.partition(":")[0] for key in ratios} <= set(PARTS)
