"""Bugs that were found once, put back one at a time: simulation and searches find each without being told where it is.

Each file of tests/simulation/planted is a patch of chalicelib, as `git diff` writes it, below a line that says what it
breaks. It is applied to a copy, never to the product. There the searches of tests/models run, and then seeds of the
simulation, until one finds what must not be, or the budget is used up.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.rehearsed import rehearsed

ROOT = Path(__file__).parents[2]
PATCHES = sorted((Path(__file__).parent / "planted").glob("*.patch"))
SEEDS, PAYMENTS = 16, 40
"""The budget of each bug: seeds from 1 on, with so many payments each."""
IS_WHOLE = bool(os.environ.get("CHAOS"))
QUICK = ("cancelled-payout-not-followed", "payee-not-compared")
"""Those that are found in each rehearsal, by a search and by the first seed; all are in `make chaos`."""


def patched(patch: Path, folder: Path) -> Path:
    """A checkout whose chalicelib has the patch; everything else is that of this one."""
    for name in ("tests", "infra", "app.py", "docs", ".chalice", "pyproject.toml", "requirements.txt"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "chalicelib", folder / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    apply(patch, folder)
    return folder


def apply(patch: Path, folder: Path) -> None:
    """Changes the files in a folder."""
    command = ["git", "apply", "--unsafe-paths", f"--directory={folder}", str(patch)]
    applied = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, f"{patch.name} does not apply any more: {applied.stderr}"


def run(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "CHAOS"}  # searches to small bounds
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )


def found_in(folder: Path, seeds: int) -> str | None:
    """What finds a bug: a search, or the simulation with the seed; None if nothing does."""
    searched = run(folder, "tests.models")
    if searched.returncode == 1:
        return next(line for line in searched.stdout.splitlines() if "breaks invariants" in line)
    assert searched.returncode == 0, searched.stderr
    arguments = ("--whole", "--seed", "1", "--seeds", str(seeds), "--payments", str(PAYMENTS))
    simulated = run(folder, "tests.simulation", *arguments)
    assert simulated.returncode in (0, 1), simulated.stderr
    lines = simulated.stdout.splitlines()
    return next((f"{line} {lines[number + 1]}" for number, line in enumerate(lines) if "breaks invariants" in line), None)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda each: each.stem)
def test_every_patch_says_what_it_breaks_applies_and_compiles(patch: Path, tmp_path: Path) -> None:
    text = patch.read_text()
    assert text.splitlines()[0].endswith(".") and text.splitlines()[1] == ""
    changed = {line.removeprefix("+++ b/") for line in text.splitlines() if line.startswith("+++ ")}
    for each in changed:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, tmp_path / each)
    apply(patch, tmp_path)
    assert changed and all((tmp_path / each).read_text() != (ROOT / each).read_text() for each in changed)
    assert all(compile((tmp_path / each).read_text(), each, "exec") for each in changed)


def test_thirty_bugs_are_planted() -> None:
    assert len(PATCHES) >= 30 and {each.stem for each in PATCHES} > set(QUICK)


@rehearsed
@pytest.mark.parametrize("patch", [each for each in PATCHES if IS_WHOLE or each.stem in QUICK], ids=lambda each: each.stem)
def test_a_bug_that_is_put_back_is_found(patch: Path, tmp_path: Path) -> None:
    found = found_in(patched(patch, tmp_path), SEEDS if IS_WHOLE else 1)
    assert found is not None, f"{patch.stem} is not found by {SEEDS} seeds"
    print(f"{patch.stem}: {found[:160]}")
