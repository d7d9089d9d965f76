"""The circuit breaker of the router, decision by decision."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chalicelib.crosschain.service.router.circuit import (
    OPEN_AFTER,
    after_answers,
    after_failures,
    probing,
    quotas,
    time_closed,
)
from chalicelib.crosschain.service.router.records import RouterCircuit
from chalicelib.crosschain.service.router.rules import Purpose, try_again
from chalicelib.platform.access.rate_limits.rules import Window
from tests.fakes.world import START

from .routes import wanted

SECOND = timedelta(seconds=1)
LATER = START + timedelta(minutes=1)
CLOSED = RouterCircuit(failures=0, openings=0, open_until=None, updated_at=START, version=3)
FAILING = replace(CLOSED, failures=OPEN_AFTER - 1)
OPEN = replace(CLOSED, failures=OPEN_AFTER, openings=1, open_until=START + 15 * SECOND)


def test_nobody_asks_while_it_is_open() -> None:
    assert time_closed(None, START) is time_closed(FAILING, START) is None
    assert time_closed(OPEN, START) == 15 * SECOND
    assert time_closed(OPEN, START + 14 * SECOND) == SECOND
    assert time_closed(OPEN, START + 15 * SECOND) is None


def test_a_probe_keeps_the_others_away_for_its_lease() -> None:
    assert probing(None, LATER) is probing(FAILING, LATER) is None
    assert probing(OPEN, LATER) == replace(OPEN, open_until=LATER + 15 * SECOND, updated_at=LATER)


def test_an_answer_closes_it_and_is_written_only_if_it_changes_something() -> None:
    assert after_answers(None, LATER) is after_answers(CLOSED, LATER) is None
    for circuit in (OPEN, FAILING, replace(OPEN, failures=0)):
        assert after_answers(circuit, LATER) == replace(CLOSED, updated_at=LATER)


def test_failures_open_it_for_longer_each_time() -> None:
    first = after_failures(None, 1, None, LATER)
    assert first == RouterCircuit(failures=1, openings=0, open_until=None, updated_at=LATER)
    assert after_failures(CLOSED, OPEN_AFTER - 1, None, LATER).open_until is None
    opened = after_failures(FAILING, 1, None, LATER)
    assert opened == replace(OPEN, open_until=LATER + 15 * SECOND, updated_at=LATER)
    assert after_failures(CLOSED, 20, None, LATER).open_until == LATER + 15 * SECOND
    again = after_failures(opened, 1, None, LATER)
    assert (again.openings, again.open_until) == (2, LATER + 30 * SECOND)
    assert after_failures(replace(opened, openings=40), 1, None, LATER).open_until == LATER + timedelta(minutes=15)


def test_five_failures_in_a_row_open_it() -> None:
    assert after_failures(CLOSED, 4, None, LATER).open_until is None
    assert after_failures(CLOSED, 5, None, LATER).open_until is not None


def test_a_pause_that_the_router_asks_for_opens_it_at_once() -> None:
    for said, pause in ((5, 15), (7200, 7200)):
        assert after_failures(CLOSED, 1, said * SECOND, LATER).open_until == LATER + pause * SECOND


def test_a_failure_of_a_probe_opens_it_again_however_few_there_were() -> None:
    asked_to_wait = after_failures(None, 1, 60 * SECOND, START)
    assert after_failures(asked_to_wait, 1, None, LATER).open_until == LATER + 30 * SECOND


@pytest.mark.parametrize(("has_key", "limit", "seconds"), [(False, 75, 7200), (True, 100, 60)])
def test_the_quota_is_that_of_the_router(has_key: bool, limit: int, seconds: int) -> None:
    windows = windows_of(has_key, "acct", "link", START)
    assert [window.limit for window in windows] == [limit // 3, 1, limit - 50, limit]
    assert {window.seconds for window in windows} == {seconds}
    for place, window in enumerate(windows):
        before, after = (windows_of(has_key, "acct", "link", at)[place] for at in (window.ends_at - SECOND, window.ends_at))
        assert window.key == before.key != after.key


def test_a_link_and_an_account_have_quotas_of_their_own() -> None:
    first, *others = (windows_of(True, *names, START) for names in (("acct", "link"), ("acct", "other"), ("b", "link")))
    same = [[window.key == known.key for window, known in zip(each, first, strict=True)] for each in others]
    assert same == [[False, True, True, True], [True, False, True, True]]


def windows_of(has_key: bool, account_id: str, name: str, now: datetime) -> tuple[Window, ...]:
    found = quotas(has_key, Purpose(account_id, name), now)
    return found.link, found.own, found.shared, found.router


def test_a_pause_is_told_in_seconds_or_in_minutes() -> None:
    texts = [try_again(wanted(), seconds).split("in ")[-1].split(",")[0] for seconds in (1, 119, 120, 121, 7200)]
    assert texts == ["1 second", "119 seconds", "2 minutes", "3 minutes", "120 minutes"]
