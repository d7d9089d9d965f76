"""What a cold start pays for, and how modules introduce themselves."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = [
    ROOT / "app.py",
    *sorted((ROOT / "chalicelib").rglob("*.py")),
    *(path for path in sorted((ROOT / "infra").rglob("*.py")) if "node_modules" not in path.parts),
]
REQUIREMENTS = [
    line.split("==")[0]
    for line in (ROOT / "requirements.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
IMPORT_NAMES = {
    "python-ulid": "ulid",
    "argon2-cffi": "argon2",
    "argon2-cffi-bindings": "argon2",  # what argon2 itself runs on
    "pycryptodome": "Crypto",
}
"""Where a package's import name is not its own name with underscores."""
LATE = (
    "web3",
    "eth_account",
    "eth_abi",
    "eth_utils",
    "tronpy",
    "coincurve",
    "aiohttp",
    "requests",
    "requests_hardened",
    "boto3",
    "botocore.session",
    "botocore.client",
    "moto",
    "ulid",
    "argon2",
    "segno",
    "coincurve",
)
"""Imported by the first function that needs them, never by `import app`."""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of a fresh process after `import app`."""
    script = "import json, sys, app; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


@pytest.mark.parametrize("name", LATE)
def test_the_app_starts_without(loaded: set[str], name: str) -> None:
    assert name not in loaded


def test_the_app_starts_without_our_infrastructure(loaded: set[str]) -> None:
    assert not loaded & {"infra", "tests", "yaml"}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_service_imports_every_package_that_it_ships(name: str) -> None:
    wanted = IMPORT_NAMES.get(name, name.replace("-", "_"))
    assert any(wanted in imported_by(path) for path in MODULES if "infra" not in path.parts)


def imported_by(path: Path) -> set[str]:
    """The packages that a module imports, at its head or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_in_its_first_line_what_it_holds_and_stays_short(path: Path) -> None:
    text = path.read_text()
    said = ast.get_docstring(ast.parse(text))
    assert said
    assert said.splitlines()[0].rstrip()[-1] in ".:"
    assert len(text.splitlines()) <= 400
