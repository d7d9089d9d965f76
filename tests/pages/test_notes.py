"""What wallets were asked for is noted: no tab forgets the step of another one, and no debt is claimed twice."""

from pathlib import Path
from typing import Any

import pytest

from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "notes_driver.js")

Found = dict[str, Any]


@pytest.fixture(scope="module")
def found() -> Found:
    outcomes: Found = run(DRIVER, [])
    return outcomes


def test_a_tab_that_is_behind_neither_ends_nor_changes_the_step_of_another_one(found: Found) -> None:
    assert found["an older one ends"] == 2


def test_a_hash_that_another_tab_has_learnt_stays(found: Found) -> None:
    assert found["a hash is learnt elsewhere"] == ["0x" + "2" * 64, True]


def test_of_two_links_that_pay_the_same_one_alone_is_asked_for(found: Found) -> None:
    assert found["two claim the same"] == [True, False]
    assert found["two claim other requests"] == [True, True]
    assert found["an approval is no claim"] == [True, True]


def test_an_approval_pays_nothing(found: Found) -> None:
    assert found["an approval pays nothing"] == ["approve", None]


def test_a_clock_that_is_set_back_loses_no_note(found: Found) -> None:
    assert found["the clock is set back"] == [3_600_002, "0x" + "2" * 64, True]


def test_what_was_given_up_is_believed_no_longer_when_the_wallet_refuses_the_next(found: Found) -> None:
    assert found["one is refused after others were given up"] == [1, 2]
    assert found["one is done after others were given up"] == [None, [[1, True]]]
