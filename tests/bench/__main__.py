"""Runs every benchmark, prints the figures and writes `.local/bench.json`: `python -m tests.bench`."""

import json
import os
import platform
import sys
from collections.abc import Callable

from infra.local.process import LOCAL, StackProblem
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
from tests.bench.figures import Figure, table

REPORT = LOCAL / "bench.json"
SECTIONS: dict[str, Callable[[], list[Figure]]] = {
    "cold start (CPU, median of fresh processes)": imports.measure,
    "memory of each function, and what is configured": memory.measure,
    "calldata for one transaction (CPU)": calldata.measure,
    "calldata of conversions (CPU)": conversions.measure,
    "batches: building (CPU) and gas": batches.measure,
    "verifying a quote of the router (CPU)": bridging.measure,
    "one request through the app (CPU)": handlers.measure,
    "signing in (CPU)": sign_in.measure,
    "reading a payer's wallet (CPU, median of fresh processes)": wallet_reads.measure,
    "DynamoDB calls of a flow": flows.measure,
    "combining payouts on a local cloud": multicalls.measure,
    f"detection: {detection.LOGS} new logs, {detection.PAYMENTS} of them payments": detection.measure,
    "logs of the fee proxies": logs.measure,
    f"knowing that no payment was left out: for each {absence.BLOCKS:,} blocks": absence.measure,
    f"searching {search.PAYMENTS:,} payments": search.measure,
    f"{recurring.DUE} recurring payouts on a local chain": recurring.measure,
    "cost and ceilings (docs/capacity.md)": capacity.measure,
    f"{load.RATE} payments a second on one network (virtual time)": load.measure,
}


def main() -> int:
    use_local_settings()
    print("Each figure with what it is compared with; the ratio is the first divided by the second.")
    report: dict[str, object] = {}
    try:
        for title, measure in SECTIONS.items():
            print(f"\n{title}", flush=True)
            figures = measure()
            print(table(figures), flush=True)
            report[title] = [figure.as_json() for figure in figures]
    except StackProblem as problem:
        print(f"{problem}.", file=sys.stderr)
        return 2
    loaded = imports.heavy_modules()
    print("\nimport app loads none of: " + ", ".join(name for name, is_loaded in loaded.items() if not is_loaded))
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps({**machine, "figures": report, "loaded_by_import_app": loaded}, indent=1) + "\n")
    print(f"Written to {REPORT.relative_to(REPORT.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
