"""Dollars a month while nothing is paid, dollars per 1,000 payments, and which limits are reached in which order.

Everything is computed from counted calls of real flows (tests/bench/steps.py) and from tests/bench/prices.json, which
has prices and limits with their date and sources. `python -m tests.bench.capacity` writes docs/capacity.md.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.local.process import ROOT
from infra.resources import INFREQUENT
from infra.template import whole_template
from tests.bench.absence import BLOCKS, extra_calls, with_two_nodes
from tests.bench.ceilings import (
    FACTS,
    HEADROOM,
    Ceiling,
    Setup,
    Use,
    ceilings,
    merchant_scale,
    setup_for,
    use_of,
)
from tests.bench.deployment import use_local_settings
from tests.bench.figures import Figure
from tests.bench.growth import (
    ARCHIVED_AFTER_DAYS,
    NODES,
    Left,
    Moved,
    left_by_a_payment,
    methods_of_month,
    months_until_archived,
    moved_to_the_archive,
    node_dollars,
    year,
)
from tests.bench.steps import IdleNetwork, Step, found_by, idle_networks, idle_schedules, payment_steps
from tests.fakes.world import PREFIX

DOCUMENT = ROOT / "docs" / "capacity.md"
IDLE_GOAL, PAYMENTS_GOAL, PAYMENTS, A_MONTH = 46, 0.25, 1_000, 10_000_000
GOALS = ((200, 1), (1_000, 10))
"""Payments a second, and to how many accounts alike, for which docs/capacity.md has the settings."""
MONTH_SECONDS = 365.25 * 86_400 / 12
_CEILINGS = 12
_CONCURRENCIES = {
    "WEBHOOK_CONCURRENCY": "deliver_webhook",
    "RECORDING_CONCURRENCY": "record_transfers",
    "ANNOUNCEMENT_CONCURRENCY": "announce_events",
}
_ASSUMED: dict[str, int] = FACTS["assumptions"]
_NODES = {"one node": 1, "two nodes": 2}
SOONER = (120, 180)
"""Settings of ARCHIVE_AFTER_DAYS below the default, for which docs/capacity.md has the cost of each year."""
_YEARS = ("USD, first year", "USD, second year", "USD, third year")
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


def dollars(amounts: Amounts) -> float:
    prices: dict[str, dict[str, float]] = FACTS["prices"]
    return sum(amount * prices[name]["usd"] / prices[name]["per"] for name, amount in amounts.items())


def amounts_of(step: Step, times: float) -> Amounts:
    """What a step takes, done so many times."""
    tables = [f"{PREFIX}-{name}" for name in INFREQUENT]
    reads = sum(step.units.read_in[table] for table in tables)
    writes = sum(map(step.units.written_in, tables))
    each = {
        "dynamodb_read_units": step.units.reads - reads,
        "dynamodb_write_units": step.units.writes - writes,
        "dynamodb_infrequent_read_units": reads,
        "dynamodb_infrequent_write_units": writes,
        "lambda_requests": 1,
        "lambda_gb_seconds": step.seconds * step.memory / 1024,
        "sqs_requests": step.queue_requests,
        "api_requests": step.is_request,
        "log_gb": _ASSUMED["log_bytes_of_an_invocation"] / 1e9,
        "sent_gb": step.bytes / 1e9,
    }
    return {name: amount * times for name, amount in each.items()}


def idle(networks: Sequence[IdleNetwork]) -> Idle:
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


_ENERGY = """\
Energy on Tron that is delegated ([runbook](../infra/runbook.md)) is paid for by a stake, or by nothing that is burned. A
payment of USDT with its approval takes about 200,000 to 400,000 units of energy and 886 bytes; by the network's figures of
2026, 9 to 10 units and 1 to 2 bytes a day for each TRX, and 100 sun for a unit:

| A payment of 200,000 units and 886 bytes | TRX |
|---|---|
| burned, if nobody delegates anything | 20.9, for good |
| staked, if all is delegated | about 21,000 for energy and 590 for bandwidth, bound for a day |
| burned by the four transactions that delegate and take back, without bandwidth of the account's own | 1.1, for good |

So a stake of 210,000 TRX serves ten such payments in a day. Each costs three writes, about ten reads and four signatures of KMS.
"""
"""What nothing here measures: what energy on Tron costs an operator who delegates it."""


def document() -> str:
    """docs/capacity.md."""
    networks, steps = idle_networks(), payment_steps()
    resting = idle(networks)
    per_payment = {step.name: dollars(amounts_of(step, step.times * PAYMENTS)) for step in steps}
    use = use_of(steps)
    rpc = sum(resting.rpc_calls.values())
    daily = {name: f"{count * 12 / 365.25:,.0f}" for name, count in resting.rpc_calls.items()}
    return "\n".join(
        [
            "# Cost and ceilings",
            "",
            "Written by `.venv/bin/python -m tests.bench.capacity` from counted calls of real flows and from",
            f"[prices.json](../tests/bench/prices.json): prices and limits of {FACTS['region']} with their sources,",
            f"as of {FACTS['read_on']}, without the free tier. `make bench` prints the totals.",
            "",
            "## A month without payments",
            "",
            f"**{resting.total:.0f} USD**, with every network of the catalogue read at the intervals of stage prod,",
            f"and **{rpc / 1e6:.0f} million JSON-RPC calls** to their nodes.",
            "",
            *_table(("Part", "USD"), {name: f"{dollars(each):.2f}" for name, each in _by_cost(resting)}),
            "",
            *_columns(
                ("Network", "JSON-RPC calls a day", *(f"checks of {BLOCKS:,} blocks, {each}" for each in _NODES)),
                {name: [calls, *_checks(name)] for name, calls in daily.items()},
            ),
            "",
            "Checks are the calls by which it is known that no payment was left out ([operations.md](operations.md),",
            "Proved absence). The calls of a day are those of one node for each network, with its checks.",
            "",
            f"## {PAYMENTS:,} payments",
            "",
            f"**{sum(per_payment.values()):.2f} USD**: each to a link of its own, on the page, with one webhook",
            "that gets every event.",
            "",
            *_table(("Part", "USD"), {name: f"{amount:.3f}" for name, amount in per_payment.items()}),
            "",
            f"SES takes {dollars({'mails': PAYMENTS}):.2f} USD for {PAYMENTS:,} e-mails.",
            "",
            _ENERGY,
            *_growth(resting, networks, steps),
            "## What is reached first",
            "",
            "The limits of AWS and of the settings of stage prod in the order in which a steady rate of payments meets",
            "them, if all payments are to one account. Above the first two, callers get 429, above those of tables",
            "503; above those of consumers and of the network a queue grows. `tests/bench/traffic.py` runs the same in",
            "virtual time. The rate limits of a merchant ([api.md](api.md), Rate limits) stand apart.",
            "",
            *_table(("Limit", "Payments a second"), _rows(ceilings(use, Setup())[:_CEILINGS])),
            "",
            "## Settings for more",
            "",
            f"Computed with {HEADROOM - 1:.0%} more than the payments need on average. `throttling` and",
            "`warm_write_units` stand beside `lambda_functions` of the stage in `.chalice/config.json`, settings in",
            "capitals among its `environment_variables`; the quotas are raised by AWS (Service Quotas), and that of",
            "functions stands there as `concurrency`, by which an alarm goes. DynamoDB bills once for what it is ready",
            "for. What is below has no merchant refused but by his own rate limit, of which `RATE_LIMIT_SCALE` is a",
            "multiple, once the rate has risen for five minutes.",
            "",
            *_settings(use),
            "",
        ]
    )


def _checks(network: str) -> list[str]:
    """The calls for checks with one node and with two."""
    return [f"{extra_calls(network, number):,.0f}" for number in _NODES.values()]


def _growth(resting: Idle, networks: Sequence[IdleNetwork], steps: Sequence[Step]) -> list[str]:
    left = left_by_a_payment()
    moved = moved_to_the_archive()
    years = [costs_of_year(number, resting, steps) for number in (1, 2, 3)]
    totals = [sum(each.values()) for each in years]
    rows = {name: [f"{each[name]:,.0f}" for each in years] for name in years[0]}
    nodes = {
        provider: [
            f"{node_dollars(provider, methods_of_month(read, found_by(number, steps), rate)):,.0f}"
            for number, read in ((1, networks), (2, with_two_nodes()))
            for rate in (0, A_MONTH)
        ]
        for provider in NODES["providers"]
    }
    paid = f"with {A_MONTH / 1e6:.0f} million"
    return [
        f"## Three years with {A_MONTH / 1e6:.0f} million payments a month",
        "",
        f"**{totals[0]:,.0f} USD in the first year, {totals[1]:,.0f} in the second, {totals[2]:,.0f} in the third**:",
        f"each payment leaves {left.items / 1000:.1f} kB of records and {left.entries / 1000:.0f} kB of entries in the",
        "indexes by which it is found, until it is moved to the archive, after",
        f"{months_until_archived(ARCHIVED_AFTER_DAYS):.1f} months on average. From then on the tables grow no more.",
        "Moving a payment takes",
        f"{moved.writes:.0f} write units, most of them to take it out of the indexes, which is what",
        f"{_months_to_pay(left, moved):.0f} months in the tables cost: the table `payments` has the class",
        "Standard-Infrequent Access, in which writes cost more and what is kept costs less.",
        "",
        *_columns(("Part", *_YEARS), rows),
        "",
        "Up to then a second year has more in its tables than the first, and what is moved in it besides. The sooner",
        "payments are moved, the less that is; they are found in the archive then, and not in lists:",
        "",
        *_columns(("`ARCHIVE_AFTER_DAYS`", *_YEARS, "second year above the first"), _by_archive(resting, steps)),
        "",
        "Nodes cost besides, by the prices in [rpc_prices.json](../tests/bench/rpc_prices.json) as of",
        f"{NODES['read_on']}, in a month. A payment is counted as if it was alone in its block: those of one block share",
        "the header and the queries for logs, so that more payments cost less each. Each has one receipt, from which its",
        "payer is read; what arrived is in the logs, which every node is asked for.",
        "",
        *_columns(
            ("Provider", "USD, one node each, without payments", paid, "USD, two nodes each, without payments", paid),
            nodes,
        ),
        "",
    ]


def _by_archive(resting: Idle, steps: Sequence[Step]) -> dict[str, list[str]]:
    """The dollars of each year, and by how much the second is above the first, for some ARCHIVE_AFTER_DAYS."""
    found = {}
    for days in (*SOONER, ARCHIVED_AFTER_DAYS):
        years = [sum(costs_of_year(number, resting, steps, days).values()) for number in (1, 2, 3)]
        found[f"{days}"] = [*(f"{each:,.0f}" for each in years), f"{years[1] / years[0] - 1:.0%}"]
    return found


def _months_to_pay(left: Left, moved: Moved) -> float:
    """After how many months a payment would have cost more in the tables than moving it did."""
    kept = {
        "dynamodb_infrequent_stored_gb_months": (left.items + left.entries) / 1e9,
        "dynamodb_recovery_gb_months": left.items / 1e9,
    }
    once = {"dynamodb_infrequent_write_units": moved.writes, "dynamodb_infrequent_read_units": moved.reads}
    return dollars(once) / dollars(kept)


def costs_of_year(
    number: int, resting: Idle, steps: Sequence[Step], archived_after: int = ARCHIVED_AFTER_DAYS
) -> dict[str, float]:
    """The dollars of a year with A_MONTH payments in each of its months, by part, without nodes."""
    paid = 12 * A_MONTH * sum(dollars(amounts_of(step, step.times)) for step in steps)
    parts = {name: dollars(each) for name, each in year(number, A_MONTH, steps, archived_after).parts.items()}
    return {"payments": paid, "twelve months without payments": 12 * resting.total, **parts}


def _by_cost(resting: Idle) -> list[tuple[str, Amounts]]:
    return sorted(resting.parts.items(), key=lambda part: -dollars(part[1]))


def _rows(found: Sequence[Ceiling]) -> dict[str, str]:
    return {each.name: f"{each.payments:,.0f}" for each in found}


def _settings(use: Use) -> list[str]:
    """A table with a column for each of GOALS."""
    setups = [(setup_for(use, *goal), goal) for goal in GOALS]
    rows = {
        "`throttling`": [f'`{{"rate": {each.rate}, "burst": {each.burst}}}`' for each, _ in setups],
        "`warm_write_units`": [f"`{json.dumps(each.warm)}`" for each, _ in setups],
        **{
            f"`{name}`": [str(each.workers(function)) for each, _ in setups]
            for name, function in _CONCURRENCIES.items()
        },
        "`RATE_LIMIT_SCALE`": [str(merchant_scale(*goal)) for _, goal in setups],
        "quota: calls a second that API Gateway takes": [f"{each.api_requests:,}" for each, _ in setups],
        "quota: functions that run at once": [f"{each.functions:,}" for each, _ in setups],
        "quota: write units of one table": [f"{each.table_units:,}" for each, _ in setups],
        "reached then": [
            f"{first.name}: {first.payments:,.0f} payments a second"
            for first in (ceilings(use, each, accounts)[0] for each, (_, accounts) in setups)
        ],
    }
    head = [f"{rate:,} payments a second, accounts: {accounts}" for rate, accounts in GOALS]
    return _columns(("Setting", *head), rows)


def _columns(head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[str]:
    lines = [head, *((name, *values) for name, values in rows.items())]
    first, *others = [f"| {' | '.join(line)} |" for line in lines]
    return [first, "|---" * len(head) + "|", *others]


def _table(head: tuple[str, str], rows: dict[str, str]) -> list[str]:
    return [f"| {head[0]} | {head[1]} |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]


def measure() -> list[Figure]:
    """The figures of `make bench`."""
    resting, steps = idle(idle_networks()), payment_steps()
    paid = PAYMENTS * sum(dollars(amounts_of(step, step.times)) for step in steps)
    figures = [
        Figure("a month without payments", resting.total, "USD", "goal", IDLE_GOAL, 1),
        Figure(f"{PAYMENTS:,} payments", paid, "USD", "goal", PAYMENTS_GOAL, 1),
    ]
    use = use_of(steps)
    for goal in GOALS:
        setup = setup_for(use, *goal)
        first = ceilings(use, setup, goal[1])[0]
        name = f"{setup.name}: {first.name}"
        figures.append(Figure(name, goal[0], "payments a second", "this limit", first.payments, 1))
    return figures


def main() -> None:
    use_local_settings()
    DOCUMENT.write_text(document())


if __name__ == "__main__":
    main()
