"""Runs a simulation: draws who does what when, lets time skip from one thing that is due to the next, and checks."""

import heapq
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from infra.check.invariants import Picture, violations
from infra.check.truths import truth_violations
from tests.fakes.bridge import Sent
from tests.fakes.world import START
from tests.simulation import truth
from tests.simulation.auditors import AUDITORS
from tests.simulation.chain import MINUTE
from tests.simulation.chance import Chance
from tests.simulation.escrowed import Bridged, Escrowed, Payout
from tests.simulation.people import KINDS, Merchant, Order
from tests.simulation.ports import without_threads
from tests.simulation.scene import Scene
from tests.simulation.strangers import STRANGERS
from tests.simulation.surroundings import Surroundings

ORDERS: dict[type[Order], int] = {**KINDS, Escrowed: 8, Bridged: 6, Payout: 2}
"""What is ordered, and how often."""
PAYMENTS_PER_MERCHANT = 60
SETTLING = timedelta(hours=30)
"""How long nothing new happens and everything is healed until all is checked: delays of retries grow to hours."""


@dataclass(frozen=True)
class Options:
    """What a run is made of; all of it is printed with a failure. `skips` is whether time skips to what is due."""

    seed: int
    payments: int = 100
    faults: bool = True
    skips: bool = True
    is_hashed: bool = False
    without: frozenset[str] = frozenset()
    """The names of actions and faults that are left out."""

    @property
    def seconds(self) -> float:
        """Within which all payments begin: four times as many take twice as long, so that more are at once."""
        return 3600 * (self.payments / 600) ** 0.5


@dataclass
class Outcome:
    """What came of a run: everything that went wrong, in words, and the names of everything that happened."""

    options: Options
    violations: list[str]
    happened: list[str]
    reached: Counter[str]
    payments: int
    minutes: int
    ticks: int
    digest: str
    run: "Simulation" = field(repr=False)

    @property
    def first(self) -> str:
        """The name of the first invariant that was broken, by which a shrunk failure is known as the same."""
        return self.violations[0].partition(":")[0] if self.violations else ""


class Simulation(Scene):
    """One run, by its options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        super().__init__(Chance(options.seed, options.faults, options.without), options.is_hashed)
        self.contracts.permit2.on_deposit = self._fill_later
        self.settled = START + timedelta(seconds=options.seconds)
        self.end = self.settled

    # --- who takes part ---

    def prepare(self) -> None:
        deployment, points = self.deployment, self.chance.points
        self.chance.points = {}
        deployment.prices.set("USD", "USDC", "1.0003")
        deployment.tick(deployment.next_minute())
        deployment.consume_until(self.now)
        for number in range(1 + self.options.payments // PAYMENTS_PER_MERCHANT):
            with self.chance.working(f"merchant-{number}"):
                self.merchants.append(Merchant.join(self, f"shop{number}"))
        self.chance.points = points
        for number in range(self.options.payments):
            self._add_order(number)
        for kind, share in {**AUDITORS, **STRANGERS}.items():
            for number in range(max(1, int(self.options.payments * share))):
                self._add_stranger(kind, number)
        Surroundings(self).add(self.options.faults)

    def _add_order(self, number: int) -> None:
        name = f"order-{number}"
        draw = self.chance.stream(name)
        begin = START + timedelta(seconds=120 + draw.uniform(0, self.options.seconds))
        kind = draw.choices(list(ORDERS), list(ORDERS.values()))[0]
        order = kind(self, name, draw.choice(self.merchants), draw)
        self.orders.append(order)
        self._add_plan(name, begin, order.plan())

    def _add_stranger(self, kind: Any, number: int) -> None:
        name = f"{kind.__name__.lower()}-{number}"
        draw = self.chance.stream(name)
        begin = START + timedelta(seconds=600 + draw.uniform(0, self.options.seconds))
        stranger = kind(self, name, draw)
        self.strangers.append(stranger)
        self._add_plan(name, begin, stranger.plan())

    def _add_plan(self, name: str, begin: datetime, plan: list[tuple[float, Callable[[], None]]]) -> None:
        for step, (seconds, act) in enumerate(plan):
            self.at((begin + timedelta(seconds=seconds)).replace(microsecond=0), f"{name}.{step}", act)
            self.end = max(self.end, begin + timedelta(seconds=seconds))

    def _fill_later(self, sent: Sent) -> None:
        """Relayers of the bridge fill a deposit after a while, or never: then it is mostly given back, in some hours."""
        name = f"fill-{sent.deposit.depositor}-{sent.deposit_id}"
        order = next(each for each in self.orders if isinstance(each, Bridged) and each.has_deposited(sent))
        if order.style != "not filled":
            fails = self.chance.share(name, "fails") < 0.15
            self.later(30 + 900 * self.chance.share(name), name, lambda: order.fill(sent, fails))
        elif self.chance.share(name, "is given back") < 0.8:
            left = sent.deposit.fill_deadline - self.now.timestamp()
            self.later(left + 120 + 14_400 * self.chance.share(name), name, lambda: order.get_back(sent))

    # --- what happens ---

    def advance(self, until: datetime) -> None:
        """Does everything that is due until then, in order."""
        while True:
            due = self.deployment.due() if self.options.skips else self.deployment.next_minute()
            moments = [self._steps[0][0] if self._steps else None, self.deployment.queue.first_due, due]
            moment = min((each for each in moments if each is not None), default=None)
            if moment is None or moment > until:
                break
            moment = max(moment, self.now)
            if self._steps and self._steps[0][0] <= moment:
                self._act()
            elif due is not None and due <= moment:
                self.deployment.tick(due)
            else:
                self.deployment.consume_until(moment)
        self.deployment.move_to(until)

    def _act(self) -> None:
        moment, _, name, act = heapq.heappop(self._steps)
        self.deployment.move_to(moment)
        if self.chance.happens(name):
            with self.chance.working(name):
                act()

    def heal(self) -> None:
        """From now on nothing fails."""
        self.chance.points = {}
        self.deployment.receivers.closed.clear()
        for nodes in self.deployment.nodes.values():
            for node in nodes:
                node.trouble = ""
        for source in (self.deployment.prices.api, self.deployment.world.prices.feeds):
            source.is_down, source.age = False, timedelta()
        self.deployment.world.router.trouble = None

    def settle(self, heals: bool = True) -> None:
        """Nothing fails, and time passes until everything that retries has done so. If it does not heal, only what is
        broken now stays so."""
        if heals:
            self.heal()
        self.advance(self.now + SETTLING)
        for merchant in self.merchants:
            merchant.redeliver(self)
        self.advance(self.now + SETTLING / 10)
        self.deployment.tick(self.deployment.next_minute())  # at whose time every chain is read
        self.deployment.consume_until(self.now + MINUTE - timedelta(seconds=1))
        self.advance(self.now + 2 * MINUTE)

    def check(self) -> list[str]:
        full = sum(node.full_blocks for nodes in self.deployment.nodes.values() for node in nodes)
        self.reached["full block"] += full
        picture = Picture.of(self.deployment.store.everything(), self.now)
        found = [str(each) for each in violations(picture)]
        found += [str(each) for each in truth_violations(picture, truth.of(self))]
        found += [each for stranger in self.strangers for each in stranger.found()]
        found += [f"unexpected: {each}" for each in self.deployment.unexpected]
        found += [f"dead: {each.queue} {each.body}" for each in self.deployment.dead]
        return found


def simulate(options: Options) -> Outcome:
    """Runs a seed. The same options have the same outcome, whatever else the process does."""
    with without_threads():
        run = Simulation(options)
        run.prepare()
        run.advance(run.end)
        run.settle()
        found = run.check()
    deployment = run.deployment
    return Outcome(
        options=options,
        violations=found,
        happened=run.chance.happened,
        reached=run.reached,
        payments=run.payments,
        minutes=int((run.now - START) / MINUTE),
        ticks=deployment.ticks,
        digest=deployment.store.digest.hexdigest() if deployment.store.digest else "",
        run=run,
    )


def without(options: Options, names: Collection[str]) -> Options:
    return replace(options, without=options.without | frozenset(names))
