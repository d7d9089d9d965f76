"""Compiles the Solidity sources of infra/local/contracts with npm's solc.

    python -m infra.local.compiling

compiles all of them. It uses the standard library alone, because setup.py runs it while packages are installed. What
was compiled is kept in `.local/contracts` until a source, the compiler's options or a version changes; compiling needs
no network.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from infra.local.process import LOCAL, ROOT, StackProblem

SOURCES = Path(__file__).with_name("contracts")
_SCRIPT = SOURCES / "compile.js"
_VERSIONS = Path(__file__).with_name("package.json")


def compile_contract(contract: str, kept: Path = LOCAL / "contracts") -> str:
    """The creation code of a contract as 0x hex, without constructor arguments. Raises StackProblem if it cannot be
    compiled."""
    result = kept / f"{contract}.json"
    inputs = (*sorted(SOURCES.rglob("*.sol")), _SCRIPT, _VERSIONS)  # a source may import any of the others
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in inputs)).hexdigest()
    try:
        found = json.loads(result.read_text())
    except (OSError, ValueError):
        found = {}
    if found.get("inputs") != digest:
        found = {"inputs": digest, "creation": _compile(contract)}
        kept.mkdir(parents=True, exist_ok=True)
        new = result.with_suffix(f".{os.getpid()}.new")  # others may compile the same at the same time
        new.write_text(json.dumps(found))
        new.replace(result)
    return str(found["creation"])


def _compile(contract: str) -> str:
    node = shutil.which("node") or str(ROOT / ".venv/bin/node")
    try:
        ran = subprocess.run([node, str(_SCRIPT), contract], capture_output=True, text=True)
    except OSError:
        raise StackProblem("there is no Node.js to compile contracts with: run `make setup`") from None
    if ran.returncode:
        raise StackProblem(f"{contract}.sol cannot be compiled (run `make setup` if a module is missing): {ran.stderr}")
    return str(json.loads(ran.stdout)["creation"])


if __name__ == "__main__":
    for each in sorted(SOURCES.glob("*.sol")):
        compile_contract(each.stem)
