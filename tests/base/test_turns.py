"""Turns of accounts: who has many things waits with them, and who has one does not."""

from itertools import islice

import pytest

from chalicelib.base.turns import in_turn


def test_one_of_each_account_comes_in_turn_and_those_of_an_account_stay_in_their_order() -> None:
    due = ["a1", "a2", "b1", "a3", "c1", "c2"]
    assert in_turn(due, lambda each: each[0]) == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert in_turn([], lambda each: each[0]) == []


@pytest.mark.parametrize("flood", [1, 100, 5_000])
def test_an_account_waits_for_one_of_each_other_account_however_many_these_have(flood: int) -> None:
    due = [*("a" for _ in range(flood)), *("b" for _ in range(flood)), "c"]
    assert "c" in islice(in_turn(due, str), 3)
