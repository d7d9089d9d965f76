"""Exhaustive search: every state that rules reach by events in any order, and the shortest way to one that is wrong.

A machine is a first state, the events that are possible in a state with what each leads to, and what has to hold of
every step. States are told apart by `canonical`, which leaves out what no rule reads; of those that were seen only its
64-bit hash is kept (among a million states two share one by chance once in 30 million runs).
"""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S")
IS_FULL = bool(os.environ.get("CHAOS"))
"""Whether machines are searched to their full bounds, which takes minutes each (`make chaos`)."""


@dataclass(frozen=True)
class Machine(Generic[S]):
    """`check` raises AssertionError for a step from one state by an event to another that must not be.

    `kind` is what a state is counted as, so that a test can say which kinds were reached. An event's first word is its
    name."""

    start: S
    events: Callable[[S], Iterable[tuple[str, S]]]
    check: Callable[[S, str, S], None]
    canonical: Callable[[S], Hashable]
    kind: Callable[[S], str]


@dataclass
class Found:
    """What a search has seen: states and steps, the states by their kinds and the steps by the names of their events."""

    states: int = 0
    steps: int = 0
    depth: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"{self.states:,} states, {self.steps:,} steps, all orders of {self.depth} events"


def search(machine: Machine[S], depth: int) -> Found:
    """Every state that at most `depth` events lead to.

    Raises AssertionError, with the shortest way there, for the first step that breaks an invariant.
    """
    first = hash(machine.canonical(machine.start))
    found = Found(1, kinds=Counter([machine.kind(machine.start)]))
    came: dict[int, tuple[int, str] | None] = {first: None}
    level = {first: machine.start}
    while level and found.depth < depth:
        found.depth += 1
        following = dict[int, S]()
        for name, state in level.items():
            event = "(the events of this state)"
            try:
                for event, after in machine.events(state):
                    machine.check(state, event, after)
                    found.steps += 1
                    found.events[event.partition(" ")[0]] += 1
                    reached = hash(machine.canonical(after))
                    if reached not in came:
                        came[reached] = name, event
                        found.states += 1
                        found.kinds[machine.kind(after)] += 1
                        if found.depth < depth:  # those of the last level, which are most, are not needed any more
                            following[reached] = after
            except AssertionError as error:
                way = [*_way(came, name), event]
                raise AssertionError(f"{error}\nafter {len(way)} events:\n  " + "\n  ".join(way)) from error
        level = following
    return found


def _way(came: dict[int, tuple[int, str] | None], name: int) -> list[str]:
    """The events that lead from the first state to one."""
    way = list[str]()
    while (step := came[name]) is not None:
        name = step[0]
        way.append(step[1])
    return way[::-1]
