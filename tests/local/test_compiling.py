"""Our own contracts: compiled once, to the same bytes everywhere, and again when something about them changes."""

import json
import shutil
from pathlib import Path

import pytest

from infra.local import compiling
from infra.local.bytecode import MODULES
from infra.local.compiling import SOURCES, compile_contract
from infra.local.process import StackProblem

CONTRACT = "ERC20RecurringPaymentProxy"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of our sources elsewhere, with one small contract more."""
    folder = tmp_path / "elsewhere" / "contracts"
    shutil.copytree(SOURCES, folder)
    (folder.parent / "node_modules").symlink_to(MODULES.resolve())
    (folder / "Small.sol").write_text("contract Small { uint256 public constant a = 1; }")
    monkeypatch.setattr(compiling, "SOURCES", folder)
    monkeypatch.setattr(compiling, "_SCRIPT", folder / "compile.js")
    return folder


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts how often a compiler was started. The compiler's answer is always 0x60."""
    started, script = tmp_path / "started", tmp_path / "bin" / "node"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho once >> {started}\necho \'{{"creation": "0x60"}}\'\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    return started


def test_the_same_source_becomes_the_same_bytes_in_another_folder(tmp_path: Path, sources: Path) -> None:
    here = compile_contract(CONTRACT, tmp_path / "kept")
    assert here == compile_contract(CONTRACT)
    assert len(here) > 2 * 4000


def test_a_contract_is_compiled_once_for_each_content(tmp_path: Path, sources: Path, started: Path) -> None:
    kept = tmp_path / "kept"
    assert [compile_contract("Small", kept) for _ in range(3)] == ["0x60"] * 3
    assert started.read_text().split() == ["once"]
    (sources / "Small.sol").write_text("contract Small { uint256 public constant a = 2; }")
    assert compile_contract("Small", kept) == "0x60"
    assert started.read_text().split() == ["once"] * 2


def test_what_an_interrupted_run_left_is_compiled_again(tmp_path: Path, sources: Path, started: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "Small.json").write_text('{"inputs"')
    assert compile_contract("Small", kept) == "0x60"
    assert json.loads((kept / "Small.json").read_text())["creation"] == "0x60"


def test_an_error_in_a_source_is_said_and_nothing_is_kept(tmp_path: Path, sources: Path) -> None:
    (sources / "Small.sol").write_text("contract Small { uint256 a = b; }")
    with pytest.raises(StackProblem, match=r"(?s)Small.sol cannot be compiled.*Undeclared identifier"):
        compile_contract("Small", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_machine_without_node_is_told_what_brings_it(
    tmp_path: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiling, "ROOT", tmp_path)
    with pytest.raises(StackProblem, match="no Node.js .*: run `make setup`"):
        compile_contract("Small", tmp_path / "kept")
