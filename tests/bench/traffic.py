"""Payments a second in virtual time: what is refused, and how long messages wait, with the settings of a `Setup`.

    payers and merchants ── throttle ── API ── tables
    scan ── recordings ── announcements ── webhooks       each with its queue, its workers and its tables

Time passes in tenths of a second. In each of them payments arrive at random, take what they use from the buckets of
the throttle, the tables and the partitions, and are worked off by as many consumers as may run by then. AWS's published
limits are those of tests/bench/prices.json; what a step takes is counted (tests/bench/steps.py). tests/bench/load.py
runs the real scanner and recorder in virtual time, on one network.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from random import Random

from tests.bench import load
from tests.bench.ceilings import FACTS, Setup, use_of
from tests.bench.steps import Step, prod_settings

SLOTS = 10
"""Steps of virtual time in a second."""
RAMP_SECONDS, STEADY_SECONDS = 300, 120
"""How long the rate rises, evenly, and how long it stays. Lambda has to start workers meanwhile."""
BURST_SECONDS = 10
"""How many seconds of what a table or partition did not use it can take at once: as many as are between two ticks of a
network. DynamoDB keeps up to 300 seconds, and promises none of it."""
_LIMITS: dict[str, int] = {name: fact["limit"] for name, fact in FACTS["limits"].items()}
_SECONDS_AFTER_CREATION = {
    "send the page and its files": 5,
    "show the link to a wallet": 8,
    "say what to sign": 12,
    "ask whether it is paid": 15,
}
"""When a payer's calls come; the asking is repeated every five seconds."""
_SECONDS_BETWEEN_ASKING, _SECONDS_UNTIL_CONFIRMED = 5, 45


@dataclass
class Bucket:
    """A token bucket: `rate` a second flow in, at most `size` are in it."""

    rate: float
    size: float
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.size

    def flow(self) -> None:
        self.tokens = min(self.size, self.tokens + self.rate / SLOTS)

    def take(self, number: float) -> float:
        """Takes so many tokens; returns how many were missing."""
        missing = max(0.0, number - self.tokens)
        self.tokens -= number - missing
        return missing


class Workers:
    """The consumers of one queue. Lambda begins with five and starts five more a second, up to `most`."""

    def __init__(self, most: float, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._waiting = deque[tuple[int, float]]()
        self._running = 5.0
        self.busy, self.longest_wait = 0.0, 0.0

    def add(self, slot: int, messages: float) -> None:
        if messages:
            self._waiting.append((slot, messages))

    def done(self, slot: int) -> float:
        """How many messages are worked off in this slot."""
        self._running = min(self._most, self._running + _LIMITS["queue_concurrency_growth_a_minute"] / 60 / SLOTS)
        able = left = self._running / self._seconds / SLOTS
        while self._waiting and left > 0:
            came, messages = self._waiting.popleft()
            taken = min(left, messages)
            left -= taken
            self.longest_wait = max(self.longest_wait, (slot - came) / SLOTS)
            if taken < messages:
                self._waiting.appendleft((came, messages - taken))
        self.busy = (able - left) * self._seconds * SLOTS
        return able - left


@dataclass(frozen=True)
class Outcome:
    """What was refused, by the name of the limit, and the longest wait in each queue in seconds."""

    refused: Mapping[str, float]
    longest_waits: dict[str, float]


def simulate(steps: Sequence[Step], setup: Setup, rate: int, accounts: int = 1, seed: int = 1) -> Outcome:
    """So many payments a second, evenly to so many accounts, on one network."""
    return _Traffic(steps, setup, accounts, Random(seed)).run(rate)


class _Traffic:
    def __init__(self, steps: Sequence[Step], setup: Setup, accounts: int, random: Random) -> None:
        self._use = use = use_of(steps)
        self._setup, self._accounts, self._random = setup, accounts, random
        self._requests = [step for step in steps if step.is_request]
        self._units = {step.name: use_of([_once(step)]).places for step in steps}
        self._throttle = Bucket(setup.rate, setup.burst)
        self._account = Bucket(setup.api_requests, _LIMITS["api_burst"])
        self._tables = {place: _units(setup.warm_units(place)) for place in use.places}
        self._quotas = {table: _units(setup.table_units) for table in use.tables}
        one = _LIMITS["partition_write_units_a_second"]
        of_accounts = {
            f"one partition of an account, {name}": (name, each / accounts) for name, each in use.accounts.items()
        }
        of_due = {f"one shard of what is due, {name}": (name, each) for name, each in use.due.items()}
        self._partitions = {name: (share, _units(one)) for name, share in (of_accounts | of_due).items()}
        self._chain = [step for step in steps if not step.is_request]
        self._workers = {step.name: Workers(*self._work(step)) for step in self._chain}
        self._refused = defaultdict[str, float](float)

    def _work(self, step: Step) -> tuple[float, float]:
        if step.function == "scan_chain":
            return 1, load.seconds_of_a_transfer()
        return self._setup.workers(step.function), step.seconds

    def run(self, rate: int) -> Outcome:
        slots = (RAMP_SECONDS + STEADY_SECONDS) * SLOTS
        came = [self._arrivals(rate * min(1.0, slot / SLOTS / RAMP_SECONDS)) for slot in range(slots)]
        tick = prod_settings().scan_interval(load.NETWORK) * SLOTS
        for slot in range(slots):
            for bucket in self._buckets():
                bucket.flow()
            running = sum(self._call(step, payments) for step, payments in self._calls(came, slot))
            if slot % tick == 0:
                confirmed = slot - _SECONDS_UNTIL_CONFIRMED * SLOTS
                self._workers[self._chain[0].name].add(slot, sum(came[max(confirmed - tick, 0) : max(confirmed, 0)]))
            running += self._consume(slot)
            self._refuse("functions that run at once", running - self._setup.functions)
        return Outcome(dict(self._refused), {name: each.longest_wait for name, each in self._workers.items()})

    def _buckets(self) -> Iterator[Bucket]:
        yield from (self._throttle, self._account, *self._tables.values(), *self._quotas.values())
        yield from (bucket for _, bucket in self._partitions.values())

    def _arrivals(self, rate: float) -> float:
        """How many payments begin in a slot, about as a Poisson distribution has it."""
        mean = rate / SLOTS
        return max(0.0, round(self._random.gauss(mean, sqrt(mean))))

    def _calls(self, came: Sequence[float], slot: int) -> Iterator[tuple[Step, float]]:
        for step in self._requests:
            first, is_page = _SECONDS_AFTER_CREATION.get(step.name, 0), step.name == "send the page and its files"
            pauses = [0] if is_page else [number * _SECONDS_BETWEEN_ASKING for number in range(round(step.times))]
            for pause in pauses:
                if (begun := slot - (first + pause) * SLOTS) >= 0:
                    yield step, came[begun] * (step.times if is_page else 1)

    def _call(self, step: Step, calls: float) -> float:
        """Makes calls; returns how many functions they keep running."""
        self._refuse("calls a second that the throttle of the stage takes", self._throttle.take(calls))
        self._refuse("calls a second that API Gateway takes of the account", self._account.take(calls))
        self._write(step, calls)
        return calls * step.seconds * SLOTS

    def _consume(self, slot: int) -> float:
        """Works off the queues, each message of which makes those of the next step."""
        before, running = 0.0, 0.0
        for step in self._chain:
            workers = self._workers[step.name]
            workers.add(slot, before * step.times)
            done = workers.done(slot)
            self._write(step, done)
            before, running = done / step.times, running + workers.busy
        return running

    def _write(self, step: Step, times: float) -> None:
        """Takes the write units of a step, done so often; a partition has its part of those of its place."""
        for place, units in self._units[step.name].items():
            self._refuse(f"write units of a new table or index, {place}", self._tables[place].take(units * times))
            table = place.split()[0]
            self._refuse(f"write units of one table with its indexes, {table}", self._quotas[table].take(units * times))
            for name, ((its_place, share), bucket) in self._partitions.items():
                if its_place == place:
                    part = share / self._use.places[place]
                    number = max(0.0, self._random.gauss(times * part, sqrt(times * part)))
                    self._refuse(f"write units of {name}", bucket.take(units * number))

    def _refuse(self, limit: str, number: float) -> None:
        if number > 0:
            self._refused[limit] += number


def _units(units: float) -> Bucket:
    return Bucket(units, units * BURST_SECONDS)


def _once(step: Step) -> Step:
    return replace(step, times=1)
