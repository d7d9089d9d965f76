"""`make descriptors` and the merge request to the registry: what they write, and what they refuse."""

import json
import subprocess
from pathlib import Path

import pytest

from chalicelib.chains.calldata.clear_signing.descriptors import descriptors
from infra.clear_signing import __main__ as command
from infra.clear_signing.__main__ import BRANCH, main


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    return subprocess.run(["git", *named, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A clone of the registry that has a descriptor of Permit2 already."""
    theirs = tmp_path / "registry" / "uniswap" / "eip712-Permit2-escrow.json"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Ann")
    git(tmp_path, "config", "user.email", "ann@example.com")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def test_the_files_are_those_that_are_served_and_without_python_3_12_it_is_said_that_nothing_linted_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path / "descriptors")
    monkeypatch.setattr(command, "_ENVIRONMENT", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "descriptors").mkdir()
    (tmp_path / "descriptors" / "calldata-old.json").write_text("{}")
    assert main([]) == 0
    written = {each.name: json.loads(each.read_text()) for each in (tmp_path / "descriptors").iterdir()}
    assert written == descriptors()
    assert "They were not linted: the official linter needs Python 3.12" in capsys.readouterr().out


def test_a_shim_that_runs_no_python_3_12_is_not_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'not installed' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setattr(command, "FOLDER", tmp_path / "descriptors")
    monkeypatch.setattr(command, "_ENVIRONMENT", tmp_path / "none")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert main([]) == 0
    assert "They were not linted" in capsys.readouterr().out


def test_a_merge_request_adds_what_the_registry_does_not_have(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--registry", str(registry)]) == 0
    assert git(registry, "branch", "--show-current").strip() == BRANCH
    assert git(registry, "status", "--porcelain") == ""
    added = git(registry, "show", "--name-status", "--format=", "HEAD").split()
    assert added[::2] == ["A"] * (len(descriptors()) - 1)
    assert {Path(each).name for each in added[1::2]} == descriptors().keys() - {"eip712-Permit2-escrow.json"}
    assert "registry/request-network/calldata-ERC20FeeProxy.json" in added
    assert "left alone, as the registry has it: registry/uniswap/eip712-Permit2-escrow.json" in capsys.readouterr().out


def test_what_is_no_clean_clone_is_refused_with_the_reason(
    registry: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--registry", str(tmp_path_factory.mktemp("else"))]) == 2
    assert "is no clone of the registry" in capsys.readouterr().err
    (registry / "registry" / "mine.json").write_text("{}")
    assert main(["--registry", str(registry)]) == 2
    assert "changes that are not committed" in capsys.readouterr().err
    (registry / "registry" / "mine.json").unlink()
    git(registry, "branch", BRANCH)
    before = git(registry, "rev-parse", "HEAD")
    assert main(["--registry", str(registry)]) == 2
    assert f"has a branch {BRANCH} already" in capsys.readouterr().err
    assert git(registry, "rev-parse", "HEAD") == before
