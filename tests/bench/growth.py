"""What a year costs at some payments a month, with what grows: records, their indexes and backups, logs, traces, nodes.

What a payment leaves is measured: the items that real flows have written when it is announced, with the entries of each
in indexes, and how long they stay (`ttl`). Prices are those of tests/bench/prices.json; tests/bench/rpc_prices.json has
what providers of nodes charge.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from chalicelib.payments.archive.flows import archive_due
from chalicelib.payments.archive.records import REST
from infra.configuration import functions_of
from infra.iam import ACCESS
from tests.bench.ceilings import FACTS
from tests.bench.steps import IdleNetwork, Shop, Step, payments_made, prod_settings
from tests.bench.units import metered
from tests.fakes.memory_tables import Item, Table
from tests.fakes.world import in_process_aws, in_process_tables

NODES: dict[str, Any] = json.loads(Path(__file__).with_name("rpc_prices.json").read_text())
_ASSUMED: dict[str, float] = FACTS["assumptions"]
MONTH_DAYS = 365.25 / 12
_GB, _DAY = 1e9, 86_400
_PAYMENTS = 16
_SCANNED_BY_A_UNIT = 8_192
"""Bytes that one read unit of a scan covers, as it need not be consistent."""
ARCHIVED_AFTER_DAYS = prod_settings().archive_after_days


@dataclass(frozen=True)
class Left:
    """What a payment leaves in the tables: bytes of items and of their entries in indexes.

    Those that stay are in `payments`, and are not deleted; of the others it is the bytes times the months that they
    stay.
    """

    items: float
    entries: float
    items_for_months: float
    entries_for_months: float


@cache
def left_by_a_payment() -> Left:
    """The average of some payments, each to a link of its own with one webhook."""
    with in_process_aws() as client:
        world = Shop(client)
        world.register_webhook()
        world.scan()
        before = dict(_items())
        payments_made(world, client, _PAYMENTS)
        sums, now = Counter[str](), world.now.timestamp()
        for place, (item, table) in _items():
            if place not in before:
                size, entries = item.size + _ASSUMED["index_entry_bytes"], _entries(item, table)
                ends = item.get("ttl")
                months = (float(ends["N"]) - now) / _DAY / MONTH_DAYS if ends else 0
                sums.update({"items": 0 if ends else size, "entries": 0 if ends else entries})
                sums.update({"items_for_months": size * months, "entries_for_months": entries * months})
        return Left(**{name: total / _PAYMENTS for name, total in sums.items()})


def _items() -> Iterator[tuple[tuple[str, str, str], tuple[Item, Table]]]:
    for name, table in in_process_tables().items():
        for item in table.all():
            yield (name, *item.key), (item, table)


def _entries(item: Item, table: Table) -> float:
    """The bytes of an item in the indexes that it is in; one of keys has about a tenth of a KB of them."""
    found = 0.0
    for index in table.indexes.values():
        if index.position(item) is not None:
            found += (0 if index.keys_only else item.size) + _ASSUMED["index_entry_bytes"]
    return found


@dataclass(frozen=True)
class Moved:
    """What it takes to move a payment to the archive: units of DynamoDB, without the scan, seconds and bytes in S3."""

    reads: float
    writes: float
    seconds: float
    bytes: float


@cache
def moved_to_the_archive() -> Moved:
    """The average of the same payments, once all of them are due."""
    with in_process_aws() as client:
        world = Shop(client)
        world.register_webhook()
        world.scan()
        payments_made(world, client, _PAYMENTS)
        world.now += timedelta(days=world.services.settings.archive_after_days + 1)
        with metered(client) as units:
            archive_due(world.services)
        written = sum(map(len, world.archive.objects.values()))
        return Moved(*(total / _PAYMENTS for total in (units.reads, units.writes, units.seconds, written)))


@dataclass(frozen=True)
class Year:
    """The parts of a year, in amounts by the names of prices.json, at so many payments in each of its months."""

    parts: dict[str, dict[str, float]]


def months_until_archived(days: int) -> float:
    """On average, with this ARCHIVE_AFTER_DAYS: a payment waits half the time between two passes."""
    return (days + REST.days / 2) / MONTH_DAYS


def year(number: int, a_month: float, steps: Sequence[Step], archived_after: int = ARCHIVED_AFTER_DAYS) -> Year:
    """The first, second, ... year, beside what the payments themselves cost and a month without any."""
    left, until_archived = left_by_a_payment(), months_until_archived(archived_after)
    months = range(12 * (number - 1) + 1, 12 * number + 1)
    payments = 12 * a_month
    kept = [min(month, until_archived) for month in months]  # from the beginning of a month, a bit too much
    stored, archived = sum(kept) * a_month / _GB, (sum(months) - sum(kept)) * a_month / _GB
    moved, going = moved_to_the_archive(), sum(month > until_archived for month in months) * a_month
    scans = stored * _GB * left.items / _SCANNED_BY_A_UNIT * MONTH_DAYS / REST.days
    calls = sum(step.is_request * step.times for step in steps) * payments
    log = sum(_ASSUMED["log_bytes_of_an_invocation"] * step.times for step in steps) * payments / _GB
    access_log = _ASSUMED["access_log_bytes_of_a_call"] * calls / _GB
    return Year(
        {
            "records that stay, in tables": {"dynamodb_infrequent_stored_gb_months": stored * left.items},
            "records that stay, in indexes": {"dynamodb_infrequent_stored_gb_months": stored * left.entries},
            "records that vanish": {
                "dynamodb_stored_gb_months": (left.items_for_months + left.entries_for_months) * payments / _GB
            },
            "point-in-time recovery": {
                "dynamodb_recovery_gb_months": stored * left.items + left.items_for_months * payments / _GB
            },
            "moving payments to the archive": {
                "dynamodb_infrequent_read_units": going * moved.reads + scans,
                "dynamodb_infrequent_write_units": going * moved.writes,
                "lambda_gb_seconds": going * moved.seconds * _memory("archive_paid") / 1024,
                "archive_puts": going / _ASSUMED["payments_of_an_archive_object"],
                "archive_gets": going / _ASSUMED["payments_of_an_archive_object"],
            },
            "the archive": {"archive_gb_months": archived * moved.bytes},
            "access logs": {"log_gb": access_log},
            "logs kept for a month": {"log_stored_gb_months": (log + access_log) * _ASSUMED["log_days"] / MONTH_DAYS},
            "traces": {"traces": calls * _ASSUMED["traced_percent_of_calls"] / 100 + 365.25 * _DAY},
            "keys of the tables": {"kms_requests": _table_key_requests() * 365.25 * 24},
        }
    )


def _memory(function: str) -> int:
    memory: int = functions_of("prod")[function]["lambda_memory_size"]
    return memory


def _table_key_requests() -> float:
    """Requests for keys of tables in an hour in which every function runs."""
    return sum(len(access.tables) for access in ACCESS.values()) * _ASSUMED["table_key_requests_an_hour"]


def node_dollars(provider: str, methods: Mapping[str, float]) -> float:
    """What a provider charges for so many calls in a month."""
    facts = NODES["providers"][provider]
    left = sum(count * facts["weights"].get(name, facts["default"]) for name, count in methods.items()) / 1e6
    total, below = 0.0, 0.0
    for tier in facts["usd_per_million"]:
        taken = min(left, tier.get("up_to_million", float("inf")) - below)
        total, left, below = total + taken * tier["usd"], left - taken, tier.get("up_to_million", 0)
    return total


def methods_of_month(networks: Sequence[IdleNetwork], steps: Sequence[Step], a_month: float) -> Counter[str]:
    """JSON-RPC calls of a month: reading every network, and what the payers' calls ask."""
    found = Counter[str]()
    for network in networks:
        ticks = MONTH_DAYS * _DAY / network.interval
        found.update({name: count * ticks for name, count in network.methods.items()})
    for step in steps:
        found.update({name: count * step.times * a_month for name, count in step.methods.items()})
    return found
