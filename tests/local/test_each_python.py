"""What depends on the version of Python passes on each that the service supports and this machine has.

`make pythons` runs the whole suite on each.
"""

import os
import subprocess

import pytest

from infra.local import setup
from infra.local.pythons import HERE, VERSIONS, find_python
from tests.pythons import environment

ROOMS = ("test_imports.py", "base", "chains/calldata", "chains/catalogue", "payments/requests", "platform/http")
"""What reads numbers and times, packs bytes, recovers signatures, and makes models, OpenAPI and the table of routes."""

OURS = ("REHEARSAL", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID")
"""Variables by which the other run would take itself for a part of this one."""


@pytest.mark.parametrize("version", [each for each in VERSIONS if each != HERE])
def test_what_depends_on_the_version_passes_on_it(version: str) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    rooms = [f"tests/{room}" for room in ROOMS]
    command = [environment(version, python), "-m", "pytest", "-p", "no:cacheprovider", *rooms]
    variables = {name: value for name, value in os.environ.items() if name not in OURS}
    done = subprocess.run(command, cwd=setup.ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
