"""A stack that runs in a copy of the project, started as `make` starts it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.local.copies import environment


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
    file, deadline = project / ".local" / "stack.json", time.monotonic() + 300
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
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    return output
