"""What everybody who takes part in a run can see and do: the deployment, the others, and to act later."""

import heapq
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from tests.fakes.world import START
from tests.simulation.chance import Chance
from tests.simulation.contracts import Contracts
from tests.simulation.deployment import Deployment


class Scene:
    """People call `later`; what they reached is counted by `reach`."""

    settled: datetime = START
    """When the last order has begun."""
    end: datetime = START
    """When everybody has done what they planned."""

    def __init__(self, chance: Chance, is_hashed: bool) -> None:
        self.chance = chance
        self.deployment = Deployment(chance, is_hashed, rate_limit_scale=1_000_000)
        self.contracts = Contracts.on(self.deployment)
        self.reached, self.payments = Counter[str](), 0
        self.orders: list[Any] = []
        self.strangers: list[Any] = []
        self.merchants: list[Any] = []
        self._steps: list[tuple[datetime, int, str, Callable[[], None]]] = []
        self._numbers = count()

    @property
    def now(self) -> datetime:
        return self.deployment.now

    def reach(self, state: str) -> None:
        """Notes that something that is to be simulated happened at least once."""
        self.reached[state] += 1

    def later(self, seconds: float, name: str, act: Callable[[], None]) -> None:
        self.at(self.now + timedelta(seconds=int(seconds)), name, act)

    def at(self, moment: datetime, name: str, act: Callable[[], None]) -> None:
        heapq.heappush(self._steps, (moment, next(self._numbers), name, act))
