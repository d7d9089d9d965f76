"""Runs the benchmarks and prints each figure with its goal, those that miss it first: `python -m tests.bench`.

`--part cold` runs one part. `.local/bench.json` has the figures of the last run. `--record` writes the ratios to
docs/benchmarks.json, with which later runs are compared; times are not kept, as they differ by machine. A part whose
peer cannot run on this machine is named and left out. Exit status 2 without any figure.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from infra.local.process import LOCAL, ROOT, StackProblem
from tests.bench import (
    absence,
    batches,
    bridging,
    calldata,
    capacity,
    conversions,
    detection,
    flows,
    handlers,
    imports,
    load,
    logs,
    memory,
    multicalls,
    recurring,
    search,
    sign_in,
    wallet_reads,
)
from tests.bench.deployment import use_local_settings
from tests.bench.figures import Figure, is_worse, table
from tests.oracles.node import ScriptEnded

REPORT = LOCAL / "bench.json"
RELEASED = ROOT / "docs" / "benchmarks.json"
_CHAIN, _CLOUD = "the local chain (npm @foundry-rs/anvil)", "the local cloud (ministack)"


@dataclass(frozen=True)
class Part:
    """Figures that are measured together; `peer` is the process of others that they need."""

    title: str
    measure: Callable[[], list[Figure]]
    peer: str = ""


PARTS = {
    "cold": Part("cold start (CPU, least of fresh processes)", imports.measure),
    "memory": Part("memory of each function, and what is configured", memory.measure),
    "calldata": Part("calldata for one transaction (CPU)", calldata.measure),
    "conversions": Part("calldata of conversions (CPU)", conversions.measure, conversions.BUILDER),
    "batches": Part("building batches (CPU)", batches.measure_building, conversions.BUILDER),
    "gas": Part("gas of batches", batches.measure_gas, _CHAIN),
    "quotes": Part("verifying a quote of the router (CPU)", bridging.measure),
    "requests": Part("one request through the app (CPU)", handlers.measure),
    "signing-in": Part("signing in (CPU)", sign_in.measure),
    "wallets": Part("reading a payer's wallet (CPU, median of fresh processes)", wallet_reads.measure),
    "calls": Part("DynamoDB calls of a flow", flows.measure),
    "combining": Part("combining payouts on a local cloud", multicalls.measure, _CLOUD),
    "detection": Part(f"{detection.LOGS} new logs, {detection.PAYMENTS} of them payments", detection.measure, _CLOUD),
    "logs": Part("logs of the fee proxies (CPU)", logs.measure),
    "completeness": Part(
        f"knowing that no payment was left out, for each {absence.BLOCKS:,} blocks", absence.measure
    ),
    "search": Part(f"searching {search.PAYMENTS:,} payments", search.measure),
    "recurring": Part(f"{recurring.DUE} recurring payouts on a local chain", recurring.measure, _CHAIN),
    "cost": Part("cost and ceilings (docs/capacity.md)", capacity.measure),
    "load": Part(f"{load.RATE} payments a second on one network (virtual time)", load.measure),
}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure, and compare with the goals.")
    parser.add_argument("--part", default="", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--record", action="store_true", help=f"write the ratios to {RELEASED.relative_to(ROOT)}")
    arguments = parser.parse_args(given)
    if arguments.part and arguments.part not in PARTS:
        print(f"There is no part '{arguments.part}'. The parts are: {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    use_local_settings()
    import_module("app")  # sets how often garbage is collected, as in every function
    figures = measure([arguments.part] if arguments.part else list(PARTS))
    released: dict[str, float] = json.loads(RELEASED.read_text()) if RELEASED.exists() else {}
    show(figures, released)
    write_report(figures)
    if arguments.record:
        RELEASED.write_text(json.dumps(merge(figures, released), indent=1, sort_keys=True) + "\n")
    return 0 if figures else 2


def measure(names: Sequence[str]) -> list[Figure]:
    """The figures of some parts, each named by its part. Says what is measured, and which peer cannot run here."""
    figures, missing = list[Figure](), list[str]()
    for name in names:
        part, started = PARTS[name], time.perf_counter()
        print(f"{name}: {part.title} ...", end=" ", flush=True)
        try:
            figures += [replace(each, name=f"{name}: {each.name}") for each in part.measure()]
        except (ScriptEnded, StackProblem) as problem:
            reason = next((line for line in str(problem).splitlines() if "Error" in line), str(problem))
            missing.append(f"{name} is left out: {part.peer} cannot run here ({reason.strip()}).")
        print(f"{time.perf_counter() - started:.0f} s", flush=True)
    for sentence in missing:
        print(sentence, file=sys.stderr)
    return figures


def show(figures: Sequence[Figure], released: Mapping[str, float]) -> None:
    """Prints the table, and how many goals are missed and ratios worse."""
    if not figures:
        return
    print("\nThe figure is the value divided by what it is compared with; less is better.\n")
    print(table(figures, released))
    missed, worse = (sum(each.is_missed for each in figures), sum(is_worse(each, released) for each in figures))
    print(f"\n{missed} of {len(figures)} goals are missed; {worse} figures are worse than {RELEASED.relative_to(ROOT)}")


def write_report(figures: Sequence[Figure]) -> None:
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps({**machine, "figures": [each.as_json() for each in figures]}, indent=1) + "\n")
    print(f"Written to {REPORT.relative_to(ROOT)}")


def merge(figures: Sequence[Figure], released: Mapping[str, float]) -> dict[str, float]:
    """The ratios by key: those of the parts that were measured, and of the others as they were released."""
    measured = {each.name.partition(":")[0] for each in figures}
    kept = {key: ratio for key, ratio in released.items() if key.partition(":")[0] not in measured}
    return kept | {each.key: float(f"{each.ratio:.3g}") for each in figures}


if __name__ == "__main__":
    sys.exit(main())
