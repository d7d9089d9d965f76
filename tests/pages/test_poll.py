"""How the page asks again: with pauses that double while nothing happens, as late as the service wants, and not while
nobody looks."""

import re
from pathlib import Path
from typing import Any

from chalicelib.pages.assets import scripts
from tests.bench.steps import POLLS
from tests.oracles.node import served

DRIVER = str(Path(__file__).parent / "poll_driver.js")
SOON = 300
"""Milliseconds after coming back."""
GIVES_NOTHING: list[dict[str, Any]] = [{}]


def played(**scene: Any) -> dict[str, Any]:
    """When it asked, in milliseconds, and whether it still listens; the driver tells what a scene is made of."""
    [answer] = served(DRIVER, [{"first": 1_000, "most": 3_000, "until": 20_000, "turns": GIVES_NOTHING, **scene}])
    return dict(answer)


def pauses(times: list[int]) -> list[int]:
    return [after - before for before, after in zip([0, *times], times, strict=False)]


def test_pauses_double_up_to_the_most() -> None:
    assert pauses(played(until=21_000)["asked"]) == [1_000, 2_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000]


def test_a_pause_begins_when_the_answer_is_there() -> None:
    assert played(turns=[{"takes": 700}], until=5_000)["asked"] == [1_000, 3_700]


def test_a_first_pause_above_the_most_stays() -> None:
    assert pauses(played(first=10_000, until=30_000)["asked"]) == [10_000, 10_000, 10_000]


def test_what_fails_is_asked_again_with_growing_pauses() -> None:
    assert pauses(played(turns=[{"wait": 0}], until=9_000)["asked"]) == [1_000, 2_000, 3_000, 3_000]


def test_a_wait_that_the_service_asks_for_is_kept_to_once_however_long() -> None:
    asked = played(turns=[{"wait": 8_000}, {}], until=23_000)["asked"]
    assert pauses(asked) == [1_000, 8_000, 3_000, 3_000, 3_000, 3_000]


def test_it_ends_when_there_is_something() -> None:
    assert played(turns=[{}, {}, {"done": True}]) == {"asked": [1_000, 3_000, 6_000], "isHeard": False}


def test_once_the_page_shows_something_else_pauses_are_short_again() -> None:
    turns = [{"shows": "waiting"}] * 4 + [{"shows": "confirming"}]
    asked = played(most=60_000, turns=turns, until=45_000)["asked"]
    assert pauses(asked) == [1_000, 1_000, 2_000, 4_000, 8_000, 1_000, 2_000, 4_000, 8_000]


def test_who_uses_the_page_has_it_ask_soon_and_no_more_than_once_in_the_first_pause() -> None:
    asked = played(most=60_000, acts=[20_000, 20_100, 20_900], until=24_000)["asked"]
    assert asked == [1_000, 3_000, 7_000, 15_000, 21_000, 23_000]


def test_who_presses_keys_all_the_time_has_it_ask_at_the_first_pace() -> None:
    asked = played(acts=[*range(50, 10_000, 50)], until=10_000)["asked"]
    assert 8 <= len(asked) <= 10 and min(pauses(asked)) >= 1_000


def test_who_uses_the_page_does_not_shorten_the_wait_that_the_service_asks_for() -> None:
    assert played(turns=[{"wait": 8_000}, {}], acts=[2_000, 5_000], until=12_000)["asked"] == [1_000, 9_000, 12_000]


def test_while_hidden_nothing_is_asked_and_coming_back_asks_soon() -> None:
    asked = played(hides=[[1_200, 15_000]])["asked"]
    assert asked == [1_000, 15_000 + SOON, 17_300]


def test_an_idle_page_asks_a_few_times_an_hour() -> None:
    """Of a link that is open, and one in escrow: a page that was left open costs the service next to nothing."""
    for pace, most in ((paces("poll.js"), 33), (paces("commerce.js"), 35), (paces("outcomes.js"), 64)):
        assert 25 <= len(played(**pace, until=3_600_000)["asked"]) <= most


def test_a_payment_on_base_asks_as_often_as_the_model_of_costs_counts() -> None:
    """When it is opened; while the wallet is asked for ten seconds; and once the payment is confirmed, until the service
    has recorded it ten seconds later."""
    asking = played(**paces("claims.js", "WATCH"), stops=10_000)["asked"]
    confirmed = [0, *played(**paces("follow.js"), turns=[{}, {"done": True}])["asked"]]  # asked at once, too
    assert confirmed[-1] <= 10_000
    assert 1 + len(asking) + len(confirmed) == POLLS


def paces(script: str, name: str = "") -> dict[str, int]:
    """The first and the longest pause that a script polls with, of several those under a name."""
    text = scripts()[script]
    found = re.search(rf"{name}.*\{{ first: ([\d_]+), most: ([\d_]+) \}}", text)
    assert found, script
    return {"first": int(found[1]), "most": int(found[2])}


def test_coming_back_while_an_answer_is_on_its_way_asks_nothing_beside_it() -> None:
    asked = played(turns=[{"takes": 5_000}], hides=[[1_500, 2_000], [3_000, 3_500]], until=8_000)["asked"]
    assert asked == [1_000, 7_000]


def test_stopped_it_asks_nothing_more_and_listens_no_more() -> None:
    assert played(stops=1_200, hides=[[2_000, 3_000]]) == {"asked": [1_000], "isHeard": False}


def test_stopped_while_an_answer_is_on_its_way_it_asks_nothing_more() -> None:
    assert played(stops=1_200, turns=[{"takes": 5_000}]) == {"asked": [1_000], "isHeard": False}
