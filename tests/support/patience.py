"""How long tests wait for what happens at last: multiples of one patience, which is longer on a slower machine.

A wait is for a condition and ends with it, so a long patience costs nothing where all is well. Tests with a browser, a
chain, a cloud or a process of their own ask `patience()`, and `patience(3)` for what takes as much longer. It is what
starting Python takes at the start of a run, times TIMES; TEST_PATIENCE, in seconds, overrides it. Other processes of a
run, those of xdist and those that tests start, have that of the first one.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from infra.local.process import patience

T = TypeVar("T")
VARIABLE = "TEST_PATIENCE"
TIMES = 1_200
"""One patience is a minute where Python starts, and reads and writes a little, within a twentieth of a second."""
LEAST, MOST = 60.0, 600.0
"""Seconds. A run keeps the cores busy that were at rest when it started, and a test that fails has to end."""
_BETWEEN = 0.1
_WORK = "import json, hashlib, sqlite3; [json.loads(json.dumps({'a': [1.5] * 100})) for _ in range(500)]"


def milliseconds(times: float = 1) -> float:
    """The patience as browsers take it."""
    return 1_000 * patience(times)


def wait_for(condition: Callable[[], T], times: float = 1, explain: Callable[[], object] = str) -> T:
    """What `condition` returns once that is true. Raises AssertionError with what `explain` says if it never is."""
    until = time.monotonic() + patience(times)
    while not (found := condition()):
        assert time.monotonic() < until, f"not within {patience(times):.0f} s {explain()}"
        time.sleep(_BETWEEN)
    return found


def measure() -> float:
    """The seconds that a fixed piece of work takes in a process of its own, now."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-S", "-c", _WORK], check=True)
    return time.monotonic() - began


def calibrate() -> None:
    """Sets the patience of this run, unless it is set. Raises ValueError if it is no number of seconds above zero."""
    given = os.environ.get(VARIABLE)
    if given is None:
        os.environ[VARIABLE] = str(min(max(LEAST, TIMES * measure()), MOST))
    elif not given.replace(".", "", 1).isdigit() or float(given) <= 0:
        raise ValueError(f"TEST_PATIENCE={given} is no number of seconds: set it to such as 60, or leave it out.")
