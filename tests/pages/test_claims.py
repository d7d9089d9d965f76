"""A claim to sign is prolonged shortly before its end for as long as the wallet asks, whether or not the page is visible."""

from pathlib import Path
from typing import Any

import pytest

from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "claims_driver.js")


def kept(**scene: Any) -> tuple[list[int], bool]:
    """The seconds at which the service was asked to prolong a claim of 300 seconds, and whether the claim was lost. The
    driver knows no document: a timer that looked whether the page is hidden would break."""
    [answer] = run(DRIVER, [scene])
    return answer["asked"], answer["isLost"]


def test_it_is_prolonged_near_its_end_again_and_again() -> None:
    assert kept(until=700) == ([230, 460, 690], False)


def test_it_is_asked_again_while_the_service_does_not_answer() -> None:
    assert kept(until=300, answers=[503, 503, 200]) == ([230, 240, 250], False)


@pytest.mark.parametrize("status", [403, 409, 423])
def test_it_is_lost_once_the_service_refuses(status: int) -> None:
    assert kept(until=600, answers=[status]) == ([230], True)


def test_it_is_lost_at_its_end_if_the_service_does_not_answer_before() -> None:
    """Another device may have it by then."""
    assert kept(until=600, answers=[503]) == ([*range(230, 301, 10)], True)


def test_nothing_is_asked_after_it_was_stopped() -> None:
    assert kept(until=600, stops=200) == ([], False)
