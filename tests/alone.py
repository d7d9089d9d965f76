"""Runs the tests that failed in the last run once more, each alone in a process of its own.

`.ci/run` does so after `make test`: a test that passes only alone depends on what ran before it or on how busy the machine
was. It does not fail the gate, but it is named, to be mended. As a plugin of pytest this file keeps how a run ended: a run
that broke off says nothing of the tests that it did not reach, so its failures are not run again.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ENDED = "alone/exit_status"
MOST = 25
"""With more failures than this the change is wrong, not the order of the tests or the load."""


def pytest_sessionstart(session: pytest.Session) -> None:
    _keep(session, None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    _keep(session, int(exitstatus))


def _keep(session: pytest.Session, status: int | None) -> None:
    cache: pytest.Cache | None = getattr(session.config, "cache", None)  # None without the plugin that keeps it
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set(ENDED, status)


def last_failed(cache: pytest.Cache) -> list[str]:
    """The ids of the tests that failed in the last run, without the groups that pytest-xdist appends to them; no ids if
    the run broke off, or ended in another way than by failures."""
    if cache.get(ENDED, None) != pytest.ExitCode.TESTS_FAILED:
        return []
    return [name.rpartition("@")[0] or name for name in cache.get("cache/lastfailed", {})]


def run_each_alone(names: list[str], folder: Path) -> list[str]:
    """Runs each test in a process of its own; returns those that fail again."""
    failed = []
    for name in names:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", name]
        passed = subprocess.run(command, cwd=folder, check=False).returncode == pytest.ExitCode.OK
        print(f"{'passed only alone' if passed else 'failed alone too'}: {name}", flush=True)
        if not passed:
            failed.append(name)
    return failed


def main(folder: Path) -> int:
    names = last_failed(pytest.Cache(folder / ".pytest_cache", None, _ispytest=True))
    if not names:
        print("The last run of the tests did not end with failed tests: there is nothing to run again.", file=sys.stderr)
        return 1
    if len(names) > MOST:
        print(f"{len(names)} tests failed: they are not run again, as no more than {MOST} are.", file=sys.stderr)
        return 1
    return 1 if run_each_alone(names, folder) else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
