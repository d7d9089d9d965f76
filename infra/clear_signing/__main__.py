"""`make descriptors`: writes the descriptors to .local/descriptors and checks them by the official linter.

    python -m infra.clear_signing                    write, and lint where there is a Python 3.12
    python -m infra.clear_signing --registry FOLDER  commit them in a clone of the registry, on a branch of their own

The registry is github.com/ethereum/clear-signing-erc7730-registry; wallets show what it has and nothing else. Push the
branch and open the merge request yourself: it is reviewed by people.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from chalicelib.chains.calldata.clear_signing.descriptors import descriptors
from infra.local.process import LOCAL

FOLDER = LOCAL / "descriptors"
BRANCH = "payment-requests"
_ENVIRONMENT = LOCAL / "descriptors-venv"
_HERE = Path(__file__).parent
_PYTHON = "3.12"
"""What the linter needs, in every version of it."""
_MESSAGE = "Add descriptors for payments through the ERC-20 and native fee proxies"


def main(arguments: list[str] | None = None) -> int:
    """Returns the status: 1 if the linter finds an error, 2 if the folder is no clone that can be written to."""
    parser = argparse.ArgumentParser(prog="python -m infra.clear_signing", description="ERC-7730 descriptors")
    parser.add_argument("--registry", type=Path, metavar="FOLDER", help="a clone of the registry to commit them in")
    asked = parser.parse_args(arguments)
    if asked.registry is not None:
        return _commit(asked.registry)
    shutil.rmtree(FOLDER, ignore_errors=True)
    files = [_write(FOLDER / name, descriptor) for name, descriptor in descriptors().items()]
    print(f"{len(files)} descriptors are in {FOLDER}", flush=True)
    return _lint(files)


def _write(file: Path, descriptor: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(descriptor, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def _lint(files: list[Path]) -> int:
    linter = _ENVIRONMENT / "bin" / "python"
    if not linter.exists():
        found = _python()
        if found is None:
            print(f"They were not linted: the official linter needs Python {_PYTHON}, which is not on the PATH.")
            return 0
        subprocess.run([found, "-m", "venv", _ENVIRONMENT], check=True)
        wanted = _HERE / "requirements.txt"
        subprocess.run([linter, "-m", "pip", "install", "--quiet", "--requirement", wanted], check=True)
    return subprocess.run([linter, _HERE / "linter.py", *files], check=False).returncode


def _python() -> str | None:
    """The interpreter that runs the linter. A shim of a version manager may be on the PATH and run nothing."""
    name = shutil.which(f"python{_PYTHON}")
    if name is None:
        return None
    works = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
    return name if works.returncode == 0 and works.stdout.startswith(f"Python {_PYTHON}.") else None


def _commit(clone: Path) -> int:
    """Writes each descriptor to `registry/<owner>/` and commits them on BRANCH."""
    if not (clone / ".git").exists() or not (clone / "registry").is_dir():
        print(f"{clone} is no clone of the registry: it has no folder `registry`.", file=sys.stderr)
        return 2
    if _git(clone, "status", "--porcelain"):
        print(f"{clone} has changes that are not committed. Commit or discard them first.", file=sys.stderr)
        return 2
    if _git(clone, "branch", "--list", BRANCH):
        print(f"{clone} has a branch {BRANCH} already. Delete or rename it first.", file=sys.stderr)
        return 2
    _git(clone, "switch", "--create", BRANCH)
    for name, descriptor in descriptors().items():
        owner = re.sub(r"[^a-z0-9]+", "-", descriptor["metadata"]["owner"].lower()).strip("-")
        file = clone / "registry" / owner / name
        if file.exists():
            print(f"left alone, as the registry has it: registry/{owner}/{name}")
            continue
        _write(file, descriptor)
    _git(clone, "add", "registry")
    _git(clone, "commit", "--message", _MESSAGE)
    print(f"Committed on branch {BRANCH}. Push it to your fork and open the merge request.")
    return 0


def _git(clone: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=clone, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
