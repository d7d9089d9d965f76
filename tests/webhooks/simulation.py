"""A simulation of deliveries at load: the service's own rules and constants, virtual time, and a model of SQS and Lambda.

    python -m tests.webhooks.simulation     # ten minutes at 100 payments a second, in some minutes of real time

Each merchant has one webhook. A payment has three events. A lane is a queue with a number of workers, as an event source
mapping has. Its queue is fair as SQS says: of a group that holds more than a tenth of the workers, a message is received
only if no other group has one; else the oldest is received. A receiver that is dead takes five seconds for an attempt.
"""

import heapq
import itertools
import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from statistics import quantiles

from chalicelib.platform.outbound.sender import DEADLINE_SECONDS
from chalicelib.platform.settings import Settings
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.circuits.rules import Route
from chalicelib.webhooks.deliveries.records import Attempt, Delivery, DeliveryState
from chalicelib.webhooks.deliveries.rules import claim, is_prompt, settle, wait
from tests.fakes.world import START

EVENTS_PER_PAYMENT = 3
HANDLING_SECONDS = 0.02
"""What a worker needs beside the request: reads and writes of DynamoDB, and the poll."""
TESTS_AT = 10.0
"""In seconds; a tenth of a second later a stranger with a healthy receiver sends a test."""
_STRANGER = "stranger"
_NOISY_SHARE = 0.1
_DEFAULTS = {each.name: each.default for each in Settings.__dataclass_fields__.values()}
WORKERS: int = _DEFAULTS["webhook_concurrency"]
RETRY_WORKERS: int = _DEFAULTS["webhook_retry_concurrency"]


@dataclass(frozen=True)
class Load:
    """`is_protected` False is a service with one lane and without circuit breakers, for comparison."""

    seconds: int
    payments_per_second: int = 100
    merchants: int = 1000
    dead_share: float = 0.05
    dead_answer: bool = False
    """True: the dead are slow instead, and answer just before the deadline."""
    dead_send: bool = True
    """False leaves out the payments of merchants whose receivers are dead."""
    flaky_share: float = 0.005
    """The attempts at healthy receivers that fail at once with 500."""
    test_calls: int = 0
    """Calls of one merchant at TESTS_AT, each of which sends a test to its 20 webhooks, which are dead."""
    is_protected: bool = True
    seed: int = 1

    @property
    def dead(self) -> int:
        return int(self.merchants * self.dead_share)

    def is_dead(self, webhook: int) -> bool:
        return webhook < self.dead or webhook > self.merchants


@dataclass
class Lane:
    """`queues` and `in_flight` have only groups with messages."""

    workers: int
    queues: dict[str, deque[tuple[float, Callable[[], float]]]] = field(default_factory=lambda: defaultdict(deque))
    in_flight: Counter[str] = field(default_factory=Counter)

    def next_group(self) -> str | None:
        """The group whose message is received next; None if all workers are busy or nothing waits."""
        if self.in_flight.total() >= self.workers:
            return None
        quiet = [group for group in self.queues if self.in_flight[group] <= self.workers * _NOISY_SHARE]
        return min(quiet or self.queues, key=lambda group: self.queues[group][0][0], default=None)


@dataclass
class Outcome:
    """Seconds: from an event to its first attempt, and from when a retry was due to the retry; of healthy receivers."""

    first_delays: list[float] = field(default_factory=list)
    retry_delays: list[float] = field(default_factory=list)
    states: Counter[DeliveryState] = field(default_factory=Counter)
    dead_attempts: int = 0
    strangers_test_delay: float | None = None

    @property
    def p99(self) -> float:
        return quantiles(self.first_delays, n=100)[-1]

    @property
    def retry_p99(self) -> float:
        return quantiles(self.retry_delays, n=100)[-1]


class Simulation:
    def __init__(self, load: Load) -> None:
        self._load, self._now = load, 0.0
        self._clock: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._prompt = Lane(WORKERS if load.is_protected else WORKERS + RETRY_WORKERS)
        self._slow = Lane(RETRY_WORKERS) if load.is_protected else self._prompt
        self._circuits: dict[int, Circuit] = {}
        self._waiting: dict[int, deque[Delivery]] = defaultdict(deque)
        self._last: dict[str, Delivery] = {}
        self.outcome = Outcome()

    def run(self) -> Outcome:
        chance = random.Random(self._load.seed)
        at = 0.0
        while at < self._load.seconds:
            at += chance.expovariate(self._load.payments_per_second)
            merchant, seed = chance.randrange(self._load.merchants), chance.randrange(2**32)
            if self._load.dead_send or merchant >= self._load.dead:
                for number in range(EVENTS_PER_PAYMENT):
                    self._at(at, partial(self._announce, merchant, seed + number))
        for call, number in itertools.product(range(self._load.test_calls), range(1, 21)):
            self._at(TESTS_AT, partial(self._announce, self._load.merchants + number, call, "tester"))
        if self._load.test_calls:
            self._at(TESTS_AT + 0.1, partial(self._announce, self._load.merchants, 0, _STRANGER))
        while self._clock and self._clock[0][0] < self._load.seconds + 120:
            self._now, _, act = heapq.heappop(self._clock)
            act()
        self.outcome.states = Counter(each.state for each in self._last.values())
        return self.outcome

    def _at(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._clock, (seconds, next(self._numbers), act))

    @property
    def _time(self) -> "timedelta":
        return timedelta(seconds=self._now)

    def _announce(self, webhook: int, seed: int, tester: str | None = None) -> None:
        now, account_id = START + self._time, tester or str(webhook)
        id, is_test = f"{next(self._numbers):026}/{seed}", tester is not None
        delivery = Delivery(
            id, str(webhook), account_id, None, "payment.confirmed", "", is_test, 0, DeliveryState.PENDING, now, now
        )
        self._queue(delivery, 0)

    def _queue(self, delivery: Delivery, delay: float) -> None:
        self._last[delivery.delivery_id] = delivery
        lane = self._prompt if is_prompt(delivery) else self._slow
        self._at(self._now + delay, lambda: self._send(lane, delivery.account_id, lambda: self._deliver(delivery, lane)))

    def _send(self, lane: Lane, group: str, work: Callable[[], float]) -> None:
        lane.queues[group].append((self._now, work))
        self._receive(lane)

    def _receive(self, lane: Lane) -> None:
        while (group := lane.next_group()) is not None:
            _, work = lane.queues[group].popleft()
            if not lane.queues[group]:
                del lane.queues[group]
            lane.in_flight[group] += 1
            self._at(self._now + work(), partial(self._free, lane, group))

    def _free(self, lane: Lane, group: str) -> None:
        lane.in_flight[group] -= 1
        if not lane.in_flight[group]:
            del lane.in_flight[group]
        self._receive(lane)

    def _deliver(self, delivery: Delivery, lane: Lane) -> float:
        """What deliveries/flows.py does with a message; returns how long its worker is busy."""
        webhook, now = int(delivery.webhook_id), START + self._time
        circuit = self._circuits.get(webhook) if self._load.is_protected else None
        route = circuit_rules.route(circuit, now)
        if route is Route.WAIT:
            self._wait(delivery)
            return HANDLING_SECONDS
        if route is not Route.ATTEMPT and lane is not self._slow:
            self._at(
                self._now + HANDLING_SECONDS,
                lambda: self._send(self._slow, delivery.account_id, lambda: self._deliver(delivery, self._slow)),
            )
            return HANDLING_SECONDS
        if route is Route.PROBE and circuit is not None:
            self._circuits[webhook] = circuit_rules.begin_probe(circuit, now)
        return self._attempt(delivery, webhook, route is Route.PROBE)

    def _attempt(self, delivery: Delivery, webhook: int, is_probe: bool) -> float:
        claimed = claim(delivery, delivery.attempt, START + self._time)
        assert claimed is not None
        status, seconds = self._receiver(delivery, webhook)
        late = (START + self._time - delivery.due_at).total_seconds() + HANDLING_SECONDS
        if self._load.is_dead(webhook):
            self.outcome.dead_attempts += 1
        elif delivery.account_id == _STRANGER:
            self.outcome.strangers_test_delay = late
        else:
            (self.outcome.retry_delays if delivery.attempt else self.outcome.first_delays).append(late)
        self._at(self._now + seconds, lambda: self._settle(claimed, status, is_probe, timedelta(seconds=seconds)))
        return seconds

    def _receiver(self, delivery: Delivery, webhook: int) -> tuple[int | None, float]:
        """The status, and how long an attempt takes; the same for an attempt of a delivery in every run."""
        if self._load.is_dead(webhook):
            return 200 if self._load.dead_answer else None, DEADLINE_SECONDS + HANDLING_SECONDS
        chance = random.Random(f"{delivery.delivery_id.split('/')[1]}/{delivery.attempt}")
        if chance.random() < self._load.flaky_share:
            return 500, HANDLING_SECONDS + 0.01
        return 200, HANDLING_SECONDS + min(chance.lognormvariate(-2.3, 0.7), 4.5)  # 0.1 s, 0.5 s for the slowest percent

    def _settle(self, claimed: Delivery, status: int | None, is_probe: bool, took: timedelta) -> None:
        webhook, now = int(claimed.webhook_id), START + self._time
        made = Attempt(now, status, None, "", 0)
        settled, following = settle(claimed, made, status == 200, is_probe, now)
        self._last[settled.delivery_id] = settled
        if settled.state is DeliveryState.WAITING:
            self._waiting[webhook].append(settled)
        if following is not None:
            self._queue(settled, following.delay_seconds)
        before = self._circuits.get(webhook) or circuit_rules.new_circuit(claimed.webhook_id, claimed.account_id, None, now)
        if circuit_rules.is_alive(status):
            after = circuit_rules.after_success(before, now, took)
        else:
            after = circuit_rules.after_failure(before, claimed.delivery_id, is_probe, now)
        self._circuits[webhook] = after
        if after.state is CircuitState.OPEN and after.due_at is not None and after != before:
            self._at((after.due_at - START).total_seconds(), lambda: self._probe(webhook))

    def _probe(self, webhook: int) -> None:
        if self._waiting[webhook]:
            probe = self._waiting[webhook].popleft()
            self._send(self._slow, probe.account_id, lambda: self._deliver(probe, self._slow))

    def _wait(self, delivery: Delivery) -> None:
        waiting = wait(delivery, START + self._time)
        self._last[delivery.delivery_id] = waiting
        self._waiting[int(delivery.webhook_id)].append(waiting)


def main() -> None:
    for name, load in (
        ("without the dead", Load(600, dead_send=False)),
        ("with 5 % dead", Load(600)),
        ("with 5 % dead, and 10 test calls to 20 dead webhooks", Load(600, test_calls=10)),
        ("with 5 % dead, one lane without circuit breakers", Load(600, is_protected=False)),
    ):
        outcome = Simulation(load).run()
        print(
            f"{name}: {len(outcome.first_delays):,} first attempts, p99 {outcome.p99 * 1000:.1f} ms, "
            f"longest {max(outcome.first_delays) * 1000:.0f} ms; {len(outcome.retry_delays):,} retries, late by "
            f"{outcome.retry_p99 * 1000:.1f} ms at p99; {outcome.dead_attempts:,} attempts at the dead; "
            f"a stranger's test after {outcome.strangers_test_delay} s"
        )


if __name__ == "__main__":
    main()
