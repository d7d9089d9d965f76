"""Runs the tests on each Python of this machine that the service supports, each in an environment of its own.

    python -m tests.pythons [room ...]     # what `make pythons` runs; by default the whole suite

The environments are in `.local/pythons`, with the packages of tests/requirements.lock by their hashes, as `.venv`.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from infra.local.pythons import VERSIONS, find_python
from infra.local.setup import ROOT

LOCK = Path(ROOT, "tests", "requirements.lock")
SPREAD = ("--numprocesses", "auto", "--maxprocesses", "4", "--dist", "loadgroup", "--no-loadscope-reorder")


def environment(version: str, python: str) -> Path:
    """The interpreter of an environment with what tests need; it is made again if the pinned packages change."""
    folder = Path(ROOT, ".local", "pythons", version)
    stamp, wanted = folder / ".stamp", f"{python} {hashlib.sha256(LOCK.read_bytes()).hexdigest()}"
    if not stamp.exists() or stamp.read_text() != wanted:
        uv = Path(sys.prefix, "bin", "uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", python, folder], check=True)
        into = folder / "bin" / "python"
        subprocess.run([uv, "pip", "sync", "--quiet", "--require-hashes", "--python", into, LOCK], check=True)
        stamp.write_text(wanted)
    return folder / "bin" / "python"


def run(version: str, python: str, arguments: list[str]) -> int:
    """The exit status of pytest on one Python."""
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # bytecode of each version has a name of its own
    return subprocess.run([environment(version, python), "-m", "pytest", *arguments], cwd=ROOT, env=variables).returncode


def main(rooms: list[str]) -> int:
    results = {}
    for version in VERSIONS:
        python = find_python(version)
        print(f"Python {version}: {python or 'skipped, as it is not on this machine'}", flush=True)
        if python is not None:
            results[version] = run(version, python, [*(f"tests/{room}" for room in rooms), *SPREAD])
    for version, status in results.items():
        print(f"Python {version}: {'passed' if status == 0 else f'failed with status {status}'}")
    return max(results.values(), default=2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
