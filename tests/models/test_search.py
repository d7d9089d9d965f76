"""The search itself: all states of a bound, each once, and the shortest way to what is wrong."""

import pytest

from tests.models.search import Machine, search


def counters(limit: int) -> Machine[tuple[int, int]]:
    """Two counters that go up by one or change places; neither may reach the limit."""

    def check(before: tuple[int, int], event: str, after: tuple[int, int]) -> None:
        assert max(after) < limit, "a counter is at its limit"

    return Machine(
        start=(0, 0),
        events=lambda each: [("left up", (each[0] + 1, each[1])), ("swap both", (each[1], each[0]))],
        check=check,
        canonical=lambda each: each,
        kind=lambda each: "even" if sum(each) % 2 == 0 else "odd",
    )


def test_every_state_of_the_bound_is_seen_once() -> None:
    found = search(counters(limit=100), depth=3)
    assert found.states == 7  # (0,0); (1,0); (2,0) (0,1); (3,0) (0,2) (1,1)
    assert found.kinds == {"even": 4, "odd": 3} and found.depth == 3
    assert found.events == {"left": 4, "swap": 4} and found.steps == 8


def test_a_broken_invariant_is_told_with_the_shortest_way_to_it() -> None:
    with pytest.raises(AssertionError) as raised:
        search(counters(limit=3), depth=9)
    message = str(raised.value)
    assert message.startswith("a counter is at its limit") and message.endswith("\nafter 3 events:" + 3 * "\n  left up")


def test_a_search_ends_where_no_event_leads_to_another_state() -> None:
    machine = Machine(0, lambda each: [("next", (each + 1) % 3)], lambda *_: None, lambda each: each, lambda each: "a")
    assert (search(machine, depth=50).states, search(machine, depth=50).steps) == (3, 3)
