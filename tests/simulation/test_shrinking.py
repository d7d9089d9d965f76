"""A failure is shrunk to what matters of it."""

from collections.abc import Sequence
from datetime import timedelta

from tests.simulation.ports import without_threads
from tests.simulation.running import Options, Simulation
from tests.simulation.shrinking import shrunk


def test_three_names_of_400_are_found() -> None:
    names = [f"name-{number}" for number in range(400)]
    runs = []

    def fails(kept: Sequence[str]) -> bool:
        runs.append(kept)
        return {"name-7", "name-123", "name-398"} <= set(kept)

    assert shrunk(names, fails) == ["name-7", "name-123", "name-398"]
    assert len(runs) < 200


def run(without: frozenset[str] = frozenset()) -> Simulation:
    """Four orders, up to the last thing that anybody does."""
    with without_threads():
        made = Simulation(Options(3, 4, faults=False, without=without))
        made.prepare()
        made.advance(made.settled + timedelta(hours=1))
    return made


def test_a_failing_run_is_shrunk_to_the_actions_that_matter() -> None:
    """As if an invariant were that a certain order is never paid: it is created, and paid."""
    whole = run()
    order = next(each for each in whole.orders if each.paid)

    def fails(kept: Sequence[str]) -> bool:
        again = run(frozenset(whole.chance.happened) - set(kept))
        return bool(next(each for each in again.orders if each.name == order.name).paid)

    kept = shrunk(whole.chance.happened, fails)
    assert len(kept) == 2 and all(each.startswith(f"{order.name}.") for each in kept)
