"""The second run of tests that failed, on real runs of pytest in a folder of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.alone import MOST

ROOT = Path(__file__).parent.parent

RACY = """
    from pathlib import Path
    def test_fails_once(tmp_path_factory):
        mark = Path("mark")
        ran_before = mark.exists()
        mark.touch()
        assert ran_before
"""
WRONG = """
    import pytest
    @pytest.mark.parametrize("address", ["a@b.test"])
    def test_always_fails(address):
        assert not address
"""
RIGHT = """
    def test_passes():
        pass
"""

SPREAD = ("-p", "xdist", "-n", "2", "--dist", "loadgroup")
"""How `make test` spreads tests over processes, which changes their names and how a run ends."""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def run_twice(folder: Path, *options: str, **files: str) -> subprocess.CompletedProcess[str]:
    """The tests, then those that failed."""
    (folder / "pytest.ini").touch()
    (folder / "conftest.py").write_text(
        "import pytest\n"
        "pytest_plugins = ('tests.alone',)\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        item.add_marker(pytest.mark.xdist_group(str(item.path)))\n"
    )
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text("\n".join(line.removeprefix("    ") for line in text.splitlines()))
    run(folder, "pytest", *options)
    return run(folder, "tests.alone")


def test_a_test_that_passes_alone_passes_the_gate_and_is_named(tmp_path: Path) -> None:
    again = run_twice(tmp_path, racy=RACY, right=RIGHT)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "passed only alone: test_racy.py::test_fails_once\n" in again.stdout
    assert "test_right" not in again.stdout


def test_a_test_that_fails_again_fails_the_gate(tmp_path: Path) -> None:
    again = run_twice(tmp_path, *SPREAD, racy=RACY, wrong=WRONG)
    assert again.returncode == 1
    assert "passed only alone: test_racy.py::test_fails_once\n" in again.stdout
    assert "failed alone too: test_wrong.py::test_always_fails[a@b.test]\n" in again.stdout


def test_a_file_that_cannot_be_imported_fails_the_gate(tmp_path: Path) -> None:
    again = run_twice(tmp_path, broken="import nothing_of_this_name", right=RIGHT)
    assert again.returncode == 1


def test_a_run_that_broke_off_has_nothing_to_run_again(tmp_path: Path) -> None:
    again = run_twice(tmp_path, *SPREAD, "--exitfirst", racy=RACY, right=RIGHT)
    assert again.returncode == 1
    assert "nothing to run again" in again.stderr


@pytest.mark.parametrize("ended_well", [False, True])
def test_without_failures_there_is_nothing_to_run_again(tmp_path: Path, ended_well: bool) -> None:
    again = run_twice(tmp_path, right=RIGHT) if ended_well else run(tmp_path, "tests.alone")
    assert again.returncode == 1
    assert "nothing to run again" in again.stderr


def test_more_failures_than_a_race_explains_are_not_run_again(tmp_path: Path) -> None:
    many = WRONG.replace('["a@b.test"]', f"range(1, {MOST + 2})")
    again = run_twice(tmp_path, many=many)
    assert again.returncode == 1
    assert f"{MOST + 1} tests failed" in again.stderr
