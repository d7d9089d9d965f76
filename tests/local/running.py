"""Stacks that run in a copy of the project, started as `make` starts them; one of them shared by several files."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.process import free_port
from tests.local.copies import copy_of_the_project, environment, with_what_setup_makes
from tests.support.patience import patience


def start(project: Path, module: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=project,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def description(project: Path, process: subprocess.Popen[str]) -> dict[str, Any]:
    """The contents of stack.json, once it is there."""
    file, deadline = project / ".local" / "stack.json", time.monotonic() + patience(5)
    while not file.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def end(process: subprocess.Popen[str], *numbers: signal.Signals) -> str:
    """Sends the signals and returns what the stack printed. It has to end with status 0."""
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.05)
    output, _ = process.communicate(timeout=patience(3))
    assert process.returncode == 0, output
    return output


SHARED = "shared stack"
"""The xdist group of the files that use the shared stack."""
_stack = pytest.StashKey["SharedStack"]()


class SharedStack:
    """A stack for all tests that only use one: started when it is asked for, ended by the last that needs it."""

    def __init__(self, project: Path) -> None:
        self.project, self.port = project, free_port()
        self._process: subprocess.Popen[str] | None = None

    def description(self) -> dict[str, Any]:
        """The contents of its stack.json."""
        if self._process is None:
            self._process = start(self.project, "infra.local", PORT=str(self.port))
        return description(self.project, self._process)

    def kill(self) -> None:
        """Ends it as a crash does. What it started has to end by itself."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate(timeout=patience())

    def end(self, *numbers: signal.Signals) -> str:
        """What it printed, after these signals; empty where it does not run."""
        process, self._process = self._process, None
        return end(process, *numbers) if process else ""


@pytest.fixture(scope="session")
def shared_stack(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStack]:
    """Files that use it are of the xdist group SHARED."""
    stack = SharedStack(with_what_setup_makes(copy_of_the_project(tmp_path_factory.mktemp("project"))))
    pytestconfig.stash[_stack] = stack
    yield stack
    stack.end(signal.SIGTERM)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Ends the shared stack before tests that do not use it: its schedules take a quarter of a core while it runs."""
    stack = item.config.stash.get(_stack, None)
    if stack is not None and nextitem is not None and not _is_of_group(nextitem):
        stack.end(signal.SIGTERM)


def _is_of_group(item: pytest.Item) -> bool:
    return any(SHARED in mark.args for mark in item.iter_markers("xdist_group"))
