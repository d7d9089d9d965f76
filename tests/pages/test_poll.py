"""How the page asks again: with growing pauses, as late as the service wants, and not while nobody looks."""

from pathlib import Path
from typing import Any

from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "poll_driver.js")
SOON = 300
"""Milliseconds after coming back."""
GIVES_NOTHING: list[dict[str, Any]] = [{}]


def played(**scene: Any) -> dict[str, Any]:
    """When it asked, in milliseconds, and whether it still listens; the driver tells what a scene is made of."""
    [answer] = run(DRIVER, [{"first": 1_000, "most": 3_000, "until": 20_000, "turns": GIVES_NOTHING, **scene}])
    return dict(answer)


def pauses(times: list[int]) -> list[int]:
    return [after - before for before, after in zip([0, *times], times, strict=False)]


def test_pauses_grow_up_to_the_most() -> None:
    assert pauses(played()["asked"]) == [1_000, 1_500, 2_250, 3_000, 3_000, 3_000, 3_000, 3_000]


def test_a_pause_begins_when_the_answer_is_there() -> None:
    assert played(turns=[{"takes": 700}], until=5_000)["asked"] == [1_000, 3_200]


def test_a_first_pause_above_the_most_stays() -> None:
    assert pauses(played(first=10_000, until=30_000)["asked"]) == [10_000, 10_000, 10_000]


def test_what_fails_is_asked_again_with_growing_pauses() -> None:
    assert pauses(played(turns=[{"wait": 0}], until=9_000)["asked"]) == [1_000, 1_500, 2_250, 3_000]


def test_a_wait_that_the_service_asks_for_is_kept_to_once_however_long() -> None:
    asked = played(turns=[{"wait": 8_000}, {}])["asked"]
    assert pauses(asked) == [1_000, 8_000, 3_000, 3_000, 3_000]


def test_it_ends_when_there_is_something() -> None:
    assert played(turns=[{}, {}, {"done": True}]) == {"asked": [1_000, 2_500, 4_750], "isHeard": False}


def test_while_hidden_nothing_is_asked_and_coming_back_asks_soon() -> None:
    asked = played(hides=[[1_200, 15_000]])["asked"]
    assert asked == [1_000, 15_000 + SOON, 16_800, 19_050]


def test_coming_back_while_an_answer_is_on_its_way_asks_nothing_beside_it() -> None:
    asked = played(turns=[{"takes": 5_000}], hides=[[1_500, 2_000], [3_000, 3_500]], until=8_000)["asked"]
    assert asked == [1_000, 7_000]


def test_stopped_it_asks_nothing_more_and_listens_no_more() -> None:
    assert played(stops=1_200, hides=[[2_000, 3_000]]) == {"asked": [1_000], "isHeard": False}


def test_stopped_while_an_answer_is_on_its_way_it_asks_nothing_more() -> None:
    assert played(stops=1_200, turns=[{"takes": 5_000}]) == {"asked": [1_000], "isHeard": False}
