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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_in_its_first_line_what_it_holds_and_stays_short(path: Path) -> None:
    text = path.read_text()
    said = ast.get_docstring(ast.parse(text))
    assert said
    assert said.splitlines()[0].rstrip()[-1] in ".:"
    assert len(text.splitlines()) <= 400
