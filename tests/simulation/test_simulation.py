"""A few seeds of the simulation, and that a seed decides everything; `make simulate` and `make chaos` run many."""

import os
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chalicelib.payments.archive.records import ArchivePass
from chalicelib.payments.scanning.records import Cursor, ScanLease
from chalicelib.relayer.records import RelayerProgress
from tests.simulation.__main__ import main
from tests.simulation.ports import without_threads
from tests.simulation.running import Options, Outcome, Simulation, simulate
from tests.support.rehearsed import rehearsed

SEEDS = int(os.environ.get("SEEDS", "2"))
"""`make chaos` takes 300."""
PAYMENTS = 30
EXPECTED = {
    "link created", "request created", "quoted", "refund offered", "commerce payment created", "capture", "signed",
    "filled", "flooded", "pretended", "snooped", "cancelled", "claimed", "pre-approved with a public credential",
}  # fmt: skip
"""What some seed has to reach: without it, nothing that follows from it is simulated."""
RARE = {
    "void", "given back", "cancelling 409", "full block", "claim ended: True", "claimed by a stranger: 409", "refund", "accepted",
    "moved away", "fill fails", "fork", "deep fork", "reclaimed", "node down", "node lags", "node hides", "node doubles",
    "node forges", "node pruned", "node reorders", "node misnames",
}  # fmt: skip
"""What many seeds have to reach."""


@cache
def outcome(seed: int) -> Outcome:
    return simulate(Options(seed, PAYMENTS))


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_every_invariant_holds_whatever_fails_and_whoever_cheats(seed: int) -> None:
    assert outcome(seed).violations == []


def test_the_seeds_reach_what_they_are_to_simulate() -> None:
    reached = sum((outcome(seed).reached for seed in range(1, SEEDS + 1)), Counter[str]())
    assert EXPECTED - reached.keys() == set()
    if SEEDS >= 100:
        assert RARE - reached.keys() == set()


def hashed(seed: int) -> Outcome:
    return simulate(Options(seed, 5, is_hashed=True))


@rehearsed
def test_a_seed_decides_every_write_in_another_process_too() -> None:
    """Where the hashes of texts, and so the order of sets, are others."""
    root = Path(__file__).parents[2]
    script = "import tests.conftest; from tests.simulation.test_simulation import *; print(hashed(5).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(root)}
    other = subprocess.run([sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, text=True, check=True)
    one, again = hashed(5), hashed(5)
    assert one.digest == again.digest == other.stdout.strip() != hashed(6).digest
    assert one.happened == again.happened


TIMES_OF_WORK = (Cursor, ScanLease, RelayerProgress, ArchivePass)
"""Records that say when something was looked at last, and how far."""


def stored(options: Options, hours: int) -> list[str]:
    """What is stored after so many hours of a run, without when what was looked at."""
    with without_threads():
        run = Simulation(options)
        run.prepare()
        run.advance(run.now + timedelta(hours=hours))
    kept: Any = (each for each in run.deployment.store.everything() if not isinstance(each, TIMES_OF_WORK))
    return sorted(map(repr, kept))


@rehearsed
@pytest.mark.parametrize("seed", range(1, 2 + SEEDS // 100))
def test_the_minutes_that_are_skipped_would_have_changed_nothing(seed: int) -> None:
    skipping, ticking = (Options(seed, 10, faults=False, skips=skips) for skips in (True, False))
    assert stored(skipping, 8) == stored(ticking, 8)


@rehearsed
def test_what_is_left_out_changes_nothing_else() -> None:
    """An order that nobody else has to do with."""
    whole = simulate(Options(3, 12, faults=False))
    names = [each for each in whole.happened if each.startswith("order-11.")]
    fewer = simulate(Options(3, 12, faults=False, without=frozenset(names)))
    assert names and [each for each in whole.happened if each not in names] == fewer.happened


def test_the_rest_of_the_service_goes_on_beside_what_never_answers_again() -> None:
    """Both nodes of a network and a receiver are broken for good, everything else is healed."""
    with without_threads():
        run = Simulation(Options(4, PAYMENTS))
        run.prepare()
        run.advance(run.end)
        run.heal()
        for node in run.deployment.nodes["mainnet"]:
            node.trouble = "down"
        run.deployment.receivers.closed.add(run.merchants[0].urls[0])
        run.settle(heals=False)
        broken = {request for order in run.orders if order.network == "mainnet" for request in order.requests}
        left = [each for each in run.check() if not any(request in each for request in broken)]
    assert [each for each in left if "never reached its receiver" not in each] == []
    assert len(broken) < len(run.orders) and run.deployment.receivers.bodies


@pytest.mark.parametrize("arguments", [["--seed", "seven"], ["--seed", "-1"], ["--payments", "1.5"], ["--seeds", "٣"]])
def test_what_is_no_number_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "must be a whole number" in capsys.readouterr().err
