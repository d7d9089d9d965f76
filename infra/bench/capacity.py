"""Dollars a month while nothing is paid, dollars per 1,000 payments, and which limit is reached first.

Everything is computed from counted calls of real flows (infra/bench/steps.py) and from infra/bench/prices.json, which
has prices and limits with their date and sources. `python -m infra.bench.capacity` writes docs/capacity.md.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chalice.app import SQSEventConfig

from chalicelib.platform.services import Services
from infra.bench.deployment import use_local_settings
from infra.bench.figures import Figure
from infra.bench.steps import Step, idle_networks, idle_schedules, payment_steps, prod_settings
from infra.local.process import ROOT
from infra.template import whole_template
from tests.fakes.world import PREFIX

DOCUMENT = ROOT / "docs" / "capacity.md"
IDLE_GOAL, PAYMENTS_GOAL, PAYMENTS = 40, 0.25, 1_000
RATES = (1, 100, 10_000)
MONTH_SECONDS = 365.25 * 86_400 / 12
_FACTS = json.loads(Path(__file__).with_name("prices.json").read_text())
_ASSUMED: dict[str, int] = _FACTS["assumptions"]
STEADY = ("Lag", "OutboxAge")
"""The metrics that schedules write every minute."""
Amounts = Mapping[str, float]
"""How much of what, by the names of prices.json."""


@dataclass(frozen=True)
class Idle:
    """The parts of a month in which nothing is paid, and the JSON-RPC calls that each network takes in it."""

    parts: dict[str, Amounts]
    rpc_calls: dict[str, float]

    @property
    def total(self) -> float:
        return sum(map(dollars, self.parts.values()))


@dataclass(frozen=True)
class Use:
    """How much of a limit some rate of payments uses."""

    limit: str
    used: float
    allowed: float

    @property
    def share(self) -> float:
        return self.used / self.allowed


def dollars(amounts: Amounts) -> float:
    prices: dict[str, dict[str, float]] = _FACTS["prices"]
    return sum(amount * prices[name]["usd"] / prices[name]["per"] for name, amount in amounts.items())


def amounts_of(step: Step, times: float) -> Amounts:
    """What a step takes, done so many times."""
    each = {
        "dynamodb_read_units": step.units.reads,
        "dynamodb_write_units": step.units.writes,
        "lambda_requests": 1,
        "lambda_gb_seconds": step.seconds * step.memory / 1024,
        "sqs_requests": step.queue_requests,
        "api_requests": step.is_request,
        "log_gb": _ASSUMED["log_bytes_of_an_invocation"] / 1e9,
        "sent_gb": step.bytes / 1e9,
    }
    return {name: amount * times for name, amount in each.items()}


def idle() -> Idle:
    networks = idle_networks()
    per_month = {network.name: MONTH_SECONDS / network.interval for network in networks}
    reading = {
        f"reading {each.name}, every {each.interval} s": amounts_of(each.tick, per_month[each.name])
        for each in networks
    }
    schedules = defaultdict[str, float](float)
    for step, minutes in idle_schedules():
        for name, amount in amounts_of(step, MONTH_SECONDS / 60 / minutes).items():
            schedules[name] += amount
    calls = {each.name: each.calls * per_month[each.name] for each in networks}
    return Idle({**reading, "schedules": schedules, **_standing()}, calls)


def _standing() -> dict[str, Amounts]:
    """What costs by the month, whatever is done."""
    resources = list(whole_template()["Resources"].values())
    kinds = Counter(each["Type"] for each in resources)
    queues = sum("RedrivePolicy" in each["Properties"] for each in resources if each["Type"] == "AWS::SQS::Queue")
    polls = MONTH_SECONDS / _ASSUMED["seconds_of_an_empty_poll"] * _ASSUMED["pollers_of_a_queue"] * queues
    reads = MONTH_SECONDS / 60 * _ASSUMED["containers_that_read_node_urls"]
    parts: dict[str, Amounts] = {
        "alarms": {"alarm_months": kinds["AWS::CloudWatch::Alarm"]},
        "metrics": {"metric_months": _metrics(resources)},
        "dashboards": {"dashboard_months": kinds["AWS::CloudWatch::Dashboard"]},
        "keys": {"key_months": kinds["AWS::KMS::Key"]},
        "secrets": {"secret_months": kinds["AWS::SecretsManager::Secret"]},
        "node URLs, read anew every minute": {"secret_requests": reads},
        "polling queues": {"sqs_requests": polls},
        "the first GB of records": {"dynamodb_stored_gb_months": 1, "dynamodb_recovery_gb_months": 1},
    }
    return {name: amounts for name, amounts in parts.items() if any(amounts.values())}


def _metrics(resources: Sequence[dict[str, Any]]) -> int:
    """How many metrics of our own have values while nothing happens: those of filters, which are 0 then, and STEADY."""
    own = [each["Properties"] for each in resources if each["Properties"].get("Namespace") == {"Ref": "Prefix"}]
    steady = {json.dumps([name, each.get("Dimensions")]) for each in own if (name := each.get("MetricName")) in STEADY}
    return len(steady) + len([each for each in resources if each["Type"] == "AWS::Logs::MetricFilter"])


def uses(steps: Sequence[Step], rate: int) -> list[Use]:
    """How much of each limit that many payments a second use, the most used one first."""
    limits = {name: fact["limit"] for name, fact in _FACTS["limits"].items()}
    tables, running = defaultdict[str, float](float), defaultdict[str, float](float)
    partitions = defaultdict[tuple[str, str], float](float)
    for step in steps:
        running[step.function] += step.seconds * step.times * rate
        for (place, partition), units in step.units.partitions.items():
            name = place.removeprefix(f"{PREFIX}-")
            tables[name.split()[0]] += units * step.times * rate
            partitions[name, partition] += units * step.times * rate
    table, (place, partition) = max(tables, key=tables.__getitem__), max(partitions, key=partitions.__getitem__)
    written, busiest = tables[table], partitions[place, partition]
    requests = sum(step.is_request * step.times * rate for step in steps)
    found = [
        Use(f"write units of table {table} when it is new", written, limits["new_table_write_units_a_second"]),
        Use(f"write units of table {table} when it has grown", written, limits["table_write_units_a_second"]),
        Use(
            f"write units of one partition, if all is of one account (table and index {place})",
            busiest,
            limits["partition_write_units_a_second"],
        ),
        Use("functions that run at once", sum(running.values()), limits["lambda_concurrency"]),
        Use("requests to API Gateway", requests, limits["api_requests_a_second"]),
        *(Use(f"{name} at once", running[name], most) for name, most in _concurrency().items() if running[name]),
    ]
    return sorted(found, key=lambda use: -use.share)


def _concurrency() -> dict[str, int]:
    """How many of each consumer of a queue run at once, by app.py and the settings of stage prod."""
    from app import build

    def services() -> Services:
        raise AssertionError("no handler is called")

    queues = [each for each in build(prod_settings(), services).event_sources if isinstance(each, SQSEventConfig)]
    return {each.name: each.maximum_concurrency for each in queues if each.maximum_concurrency is not None}


def document() -> str:
    """docs/capacity.md."""
    resting, steps = idle(), payment_steps()
    per_payment = {step.name: dollars(amounts_of(step, step.times * PAYMENTS)) for step in steps}
    rpc = sum(resting.rpc_calls.values())
    daily = {name: f"{count * 12 / 365.25:,.0f}" for name, count in resting.rpc_calls.items()}
    return "\n".join(
        [
            "# Cost and ceilings",
            "",
            "Written by `python -m infra.bench.capacity` from counted calls of real flows and from",
            f"[prices.json](../infra/bench/prices.json): prices and limits of {_FACTS['region']} with their sources,",
            f"as of {_FACTS['read_on']}, without the free tier. `make bench` prints the totals.",
            "",
            "## A month without payments",
            "",
            f"**{resting.total:.0f} USD**, with every network of the catalogue read at the intervals of stage prod,",
            f"and **{rpc / 1e6:.0f} million JSON-RPC calls** to their nodes.",
            "",
            *_table(("Part", "USD"), {name: f"{dollars(each):.2f}" for name, each in _by_cost(resting)}),
            "",
            *_table(("Network", "JSON-RPC calls a day"), daily),
            "",
            f"## {PAYMENTS:,} payments",
            "",
            f"**{sum(per_payment.values()):.2f} USD**: each to a link of its own, on the page, with one webhook",
            "that gets every event.",
            "",
            *_table(("Part", "USD"), {name: f"{amount:.3f}" for name, amount in per_payment.items()}),
            "",
            "## What is reached first",
            "",
            "How much of a limit payments use at a steady rate. Above 100 %, a queue grows, or calls are refused with",
            "503 and repeated.",
            *(line for rate in RATES for line in ("", *_ceilings(steps, rate))),
            "",
        ]
    )


def _by_cost(resting: Idle) -> list[tuple[str, Amounts]]:
    return sorted(resting.parts.items(), key=lambda part: -dollars(part[1]))


def _ceilings(steps: Sequence[Step], rate: int) -> list[str]:
    rows = {use.limit: f"{use.used:,.0f} of {use.allowed:,} ({use.share:.0%})" for use in uses(steps, rate)[:5]}
    return _table((f"At {rate:,} payments a second" if rate > 1 else "At 1 payment a second", "Used"), rows)


def _table(head: tuple[str, str], rows: dict[str, str]) -> list[str]:
    return [f"| {head[0]} | {head[1]} |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]


def measure() -> list[Figure]:
    """The figures of `make bench`."""
    resting, steps = idle(), payment_steps()
    paid = PAYMENTS * sum(dollars(amounts_of(step, step.times)) for step in steps)
    figures = [
        Figure("a month without payments", resting.total, "USD", "goal", IDLE_GOAL, goal="<= 1"),
        Figure(f"{PAYMENTS:,} payments", paid, "USD", "goal", PAYMENTS_GOAL, goal="<= 1"),
    ]
    for rate in RATES:
        first = uses(steps, rate)[0]
        figures.append(Figure(f"{rate:,} payments a second: {first.limit}", first.used, "", "limit", first.allowed))
    return figures


def main() -> None:
    use_local_settings()
    DOCUMENT.write_text(document())


if __name__ == "__main__":
    main()
