"""The Pythons of this machine, by version, for the bytecode of functions, their workers in the local cloud, and tests.

Uses the standard library alone: the local cloud, which has an environment of its own, imports it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")
"""What the service runs on (`OLDEST` and `NEWEST` of setup.py)."""
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def find_python(version: str) -> str | None:
    """The path of an interpreter of `version` ("3.13") without a virtual environment; None if there is none."""
    return next((path for path in _candidates(version) if _version_of(path) == version), None)


def _candidates(version: str) -> Iterator[str]:
    """This one, then those that pyenv has, as its command `python3.13` may refuse to start one, then that of PATH."""
    if version == HERE:
        yield str(Path(sys.base_prefix, "bin", f"python{version}"))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python{version}")), reverse=True)
    yield from filter(None, [shutil.which(f"python{version}")])


def _version_of(path: str) -> str:
    command = [path, "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
