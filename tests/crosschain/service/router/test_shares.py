"""Whatever other accounts ask of the router, one that asks modestly has its answer."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.crosschain.service.router import flows
from chalicelib.crosschain.service.router.circuit import ACCOUNTS, QUESTIONS, QUESTIONS_WITH_KEY
from chalicelib.crosschain.service.router.rules import Purpose, Route
from tests.fakes.world import World

from .routes import wanted

GREEDY = st.lists(
    st.tuples(st.integers(0, ACCOUNTS - 2), st.integers(1, 20), st.booleans()), min_size=10, max_size=60
)
"""Accounts by number, how much each asks at once, and whether by another link than before."""


@pytest.mark.parametrize(("has_key", "limit", "seconds"), [(False, QUESTIONS, 7200), (True, QUESTIONS_WITH_KEY, 60)])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(accounts=st.integers(1, ACCOUNTS), asked=GREEDY, rounds=st.integers(1, 3), most_at_once=st.integers(1, 20))
def test_up_to_fifty_accounts_that_ask_at_will_leave_a_modest_one_its_question_in_each_window(
    world: World,
    has_key: bool,
    limit: int,
    seconds: int,
    accounts: int,
    asked: list[tuple[int, int, bool]],
    rounds: int,
    most_at_once: int,
) -> None:
    world.router.has_key = has_key
    wallets = (wanted(payer=f"0x{next(_numbers):040x}") for _ in count())
    for turn in range(rounds):
        world.advance(seconds)
        before = len(world.router.calls)
        every = [(number, 1, True) for number in range(accounts - 1)]
        greedy = [*asked, *every, *asked] if accounts > 1 else []
        for place, (number, questions, is_other_link) in enumerate(greedy):
            name = f"greedy {number % (accounts - 1)}"
            link = f"{name} {place if is_other_link else turn}"
            some = [next(wallets) for _ in range(min(questions, most_at_once))]
            flows.quotes(world.services, some, Purpose(name, link))
        (answer,) = flows.quotes(world.services, [next(wallets)], Purpose("modest", "link"))
        assert isinstance(answer, Route)
        assert len(world.router.calls) - before <= limit


_numbers = count()
