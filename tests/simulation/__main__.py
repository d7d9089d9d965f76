"""`make simulate`: runs seeds and prints what came of them; shrinks the first failure to what matters.

    python -m tests.simulation --seed 7 --payments 10000
    python -m tests.simulation --seed 1 --seeds 50 --payments 60     fifty seeds, up to the first that fails

Exit status 1 if a seed fails, 2 if it was asked for something else than numbers.
"""

import sys
import time
from collections.abc import Sequence

import tests.conftest  # noqa: F401 - the environment that the app reads at its start
from infra.explain import Parser
from tests.simulation.running import Options, Outcome, simulate, without
from tests.simulation.shrinking import shrunk

PER_RUN = 500
"""Payments of one world: more are made in several, each with a seed of its own that the first one decides."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = Parser(prog="python -m tests.simulation", description="Simulates the whole service by one seed.")
    parser.add_argument("--seed", default="1", help="a whole number; the same one has the same outcome")
    parser.add_argument("--payments", default="200", help="how many payments are made")
    parser.add_argument("--seeds", default="1", help="how many seeds are run, from the given one on")
    parser.add_argument("--whole", action="store_true", help="do not shrink a failure")
    options = parser.parse_args(arguments)
    for name in ("seed", "payments", "seeds"):
        if not (getattr(options, name).isascii() and getattr(options, name).isdigit()):
            parser.error(f"--{name} must be a whole number, not {getattr(options, name)!r}")
    payments, first = int(options.payments), int(options.seed)
    for seed in range(first, first + int(options.seeds)):
        begun, made = time.process_time(), 0
        for number in range(max(1, -(-payments // PER_RUN))):
            asked = Options(seed + number * 1_000_003, min(payments, PER_RUN))
            outcome = simulate(asked)
            made += outcome.payments
            if outcome.violations:
                print(report(outcome, shrinks=not options.whole))
                return 1
        seconds = time.process_time() - begun
        print(f"seed {seed}: {made} payments, {made * 60 / max(seconds, 0.001):,.0f} a CPU minute; every invariant holds")
    return 0


def report(outcome: Outcome, shrinks: bool) -> str:
    """What went wrong, what the run was made of, and what of it matters."""
    lines = [f"Seed {outcome.options.seed} with {outcome.options.payments} payments breaks invariants:"]
    lines += [f"  {each[:600]}" for each in outcome.violations[:5]]
    lines.append(f"Its faults: {sorted(outcome.run.chance.points)}")
    if shrinks:
        lines += ["What matters:", *(f"  {each}" for each in shrunk_names(outcome))]
    return "\n".join(lines)


def shrunk_names(outcome: Outcome) -> list[str]:
    """The actions and faults of a failing run without which it would not fail."""
    names, options = list(dict.fromkeys(outcome.happened)), outcome.options

    def fails(kept: Sequence[str]) -> bool:
        again = simulate(without(options, set(names) - set(kept)))
        return again.first == outcome.first

    return shrunk(names, fails)


if __name__ == "__main__":
    sys.exit(main())
