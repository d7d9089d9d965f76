"""The Pythons that the service supports, and how one of them is found on a machine."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from infra.local import pythons, setup
from infra.local.pythons import HERE, VERSIONS, find_python


def test_setup_the_project_and_the_tests_name_the_same_versions() -> None:
    root = Path(setup.ROOT)
    assert tuple(f"3.{minor}" for minor in range(setup.OLDEST[1], setup.NEWEST[1] + 1)) == VERSIONS
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == f">={VERSIONS[0]}"
    assert project["tool"]["mypy"]["python_version"] == VERSIONS[0]


def test_an_interpreter_is_found_outside_of_this_environment() -> None:
    found = find_python(HERE)
    assert found is not None
    said = subprocess.run([found, "-c", "import sys; print(sys.prefix == sys.base_prefix)"], capture_output=True, text=True)
    assert said.stdout.strip() == "True"


def test_a_name_that_starts_another_version_or_nothing_is_no_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyenv's own `python3.12` ends with status 127 unless that version is switched on."""
    for name, lines in {"python3.12": "exit 127", "python3.13": "echo 3.14"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    others = [each for each in ("3.12", "3.13") if each != HERE]
    assert [pythons.find_python.__wrapped__(each) for each in others] == [None] * len(others)
