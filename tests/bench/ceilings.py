"""Which limits payments meet at a steady rate, and in which order: those of a stage's settings and those of AWS.

A ceiling is a limit with what one payment uses of it, by the counted calls of tests/bench/steps.py. What an operator
can set or have raised is a `Setup`; `setup_for` computes the one for a rate. The merchants' own rate limits stand
apart, as they are not a ceiling of the stage.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from chalice.app import SQSEventConfig

from chalicelib.platform.access.rate_limits.rules import UNITS_PER_MINUTE
from infra.gateway import BURST, RATE
from tests.bench import load
from tests.bench.steps import Step, prod_settings
from tests.fakes.world import PREFIX

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("prices.json").read_text())
_LIMITS: dict[str, int] = {name: fact["limit"] for name, fact in FACTS["limits"].items()}
HEADROOM = 1.5
"""How much more than a rate needs on average is set for it: payments come unevenly."""
_MOST_MAXIMUM, _MOST_AT_ONCE = _LIMITS["queue_concurrency"], _LIMITS["queue_concurrency_without_maximum"]
_OF_CALLERS, _OF_TICKS = "RATE#", "CHAIN#"
"""What the keys of these records begin with: counters of rate limits, and what a tick of a network writes once."""


@dataclass(frozen=True)
class Setup:
    """What an operator sets of a stage, and what AWS has raised for its account; without more: the defaults.

    `warm` are the write units a second that a table or index is ready for from the beginning, by its place (infra/
    warming.py). `concurrency` is how many of each consumer of a queue run at once.
    """

    name: str = "the defaults"
    rate: int = RATE
    burst: int = BURST
    api_requests: int = _LIMITS["api_requests_a_second"]
    functions: int = _LIMITS["lambda_concurrency"]
    table_units: int = _LIMITS["table_write_units_a_second"]
    warm: Mapping[str, int] = field(default_factory=dict)
    concurrency: Mapping[str, int] = field(default_factory=dict)

    def warm_units(self, place: str) -> int:
        return self.warm.get(place, _LIMITS["new_table_write_units_a_second"])

    def workers(self, function: str) -> int:
        return self.concurrency.get(function) or default_concurrency()[function]


@dataclass(frozen=True)
class Ceiling:
    """A limit a second, or of what runs at once, and how much of it each payment a second uses."""

    name: str
    allowed: float
    used: float

    @property
    def payments(self) -> float:
        """The payments a second at which it is reached."""
        return self.allowed / self.used


@dataclass(frozen=True)
class Use:
    """What one payment uses, by what is limited.

    `places` are write units by table and by index. `accounts` and `due` are those of one partition of a place: of the
    busiest that belongs to an account, and of one shard of what is due, which all accounts share.
    """

    calls: float
    places: Mapping[str, float]
    accounts: Mapping[str, float]
    due: Mapping[str, float]
    running: Mapping[str, float]
    in_flight: float

    @property
    def tables(self) -> dict[str, float]:
        """The write units of each table together with its indexes."""
        found = defaultdict[str, float](float)
        for place, units in self.places.items():
            found[place.split()[0]] += units
        return found


def use_of(steps: Sequence[Step]) -> Use:
    """What one payment uses."""
    places, running = defaultdict[str, float](float), defaultdict[str, float](float)
    shards = defaultdict[tuple[str, str], defaultdict[str, float]](lambda: defaultdict(float))
    for step in steps:
        is_shared = step.function == "scan_chain"  # one tick finds many payments
        running[step.function] += (load.seconds_of_a_transfer() if is_shared else step.seconds) * step.times
        for (full, partition), units in step.units.partitions.items():
            place, key = full.removeprefix(f"{PREFIX}-"), _text(partition)
            places[place] += units * step.times
            if not key.startswith((_OF_CALLERS, _OF_TICKS)):
                shards[place, re.sub(r"\d+$", "", key)][key] += units * step.times
    accounts, due = defaultdict[str, float](float), defaultdict[str, float](float)
    for (place, _), each in shards.items():
        found, mean = due if place.endswith("by_due") else accounts, sum(each.values()) / len(each)
        found[place] = max(found[place], mean)
    calls = sum(step.is_request * step.times for step in steps)
    in_flight = max((step.seconds * step.times for step in steps if step.is_consumer), default=0)
    return Use(calls, places, accounts, due, running, in_flight)


def _text(partition: str) -> str:
    """The partition key itself: an index has it as moto writes it, `DynamoType: {'S': 'key'}`."""
    found = re.fullmatch(r"DynamoType: \{'S': '(.*)'\}", partition)
    return found[1] if found else partition


def ceilings(use: Use, setup: Setup, accounts: int = 1) -> list[Ceiling]:
    """The limits in the order in which payments to so many accounts alike meet them."""
    return sorted(_ceilings(use, setup, accounts), key=lambda each: each.payments)


def _ceilings(use: Use, setup: Setup, accounts: int) -> Iterator[Ceiling]:
    of_partition = _LIMITS["partition_write_units_a_second"]
    yield Ceiling("calls a second that the throttle of the stage takes", setup.rate, use.calls)
    yield Ceiling("calls a second that API Gateway takes of the account", setup.api_requests, use.calls)
    for place, units in use.places.items():
        yield Ceiling(f"write units of a new table or index, {place}", setup.warm_units(place), units)
    for table, units in use.tables.items():
        yield Ceiling(f"write units of one table with its indexes, {table}", setup.table_units, units)
    for place, units in use.accounts.items():
        yield Ceiling(f"write units of one partition of an account, {place}", of_partition, units / accounts)
    for place, units in use.due.items():
        yield Ceiling(f"write units of one shard of what is due, {place}", of_partition, units)
    for function in default_concurrency():
        if use.running.get(function) and function != "scan_chain":  # of which one runs for a network, see below
            yield Ceiling(f"{function} at once", setup.workers(function), use.running[function])
    yield Ceiling("transfers that the one scan of a network finds", 1, load.seconds_of_a_transfer())
    yield Ceiling("functions that run at once", setup.functions, sum(use.running.values()))
    yield Ceiling("messages of one queue in flight", _LIMITS["queue_messages_in_flight"], use.in_flight)


def default_concurrency() -> dict[str, int]:
    """How many of each consumer of a queue run at once, by app.py and the settings of stage prod."""
    from app import build

    def services() -> Any:
        raise AssertionError("no handler is called")

    queues = [each for each in build(prod_settings(), services).event_sources if isinstance(each, SQSEventConfig)]
    return {each.name: each.maximum_concurrency for each in queues if each.maximum_concurrency is not None}


def setup_for(use: Use, rate: int, accounts: int) -> Setup:
    """What an operator sets for so many payments a second; what is enough by default stays as it is."""
    default = Setup()

    def of(least: int, used: float) -> int:
        return max(least, _rounded(used * rate * HEADROOM))

    api = of(default.rate, use.calls)
    warm = {place: of(default.warm_units(place), units) for place, units in use.places.items()}
    workers = {
        function: number if (number := of(most, use.running[function])) <= _MOST_MAXIMUM else _MOST_AT_ONCE
        for function, most in default_concurrency().items()
        if function in use.running and function != "scan_chain"
    }
    return Setup(
        f"{rate:,} payments a second" + (" to one account" if accounts == 1 else ""),
        api,
        min(2 * api, _LIMITS["api_burst"]),
        of(default.api_requests, use.calls),
        of(default.functions, sum(use.running.values())),
        of(default.table_units, max(use.tables.values())),
        {place: units for place, units in warm.items() if units > default.warm_units(place)},
        workers,
    )


def merchant_scale(rate: int, accounts: int) -> int:
    """RATE_LIMIT_SCALE with which each of so many accounts alike may create as many links as it is paid."""
    return max(1, ceil(rate / accounts * 60 / UNITS_PER_MINUTE))


def _rounded(number: float) -> int:
    """The number, rounded up to two digits."""
    step: int = 10 ** max(floor(log10(number)) - 1, 0)
    return ceil(number / step) * step
