"""Clients generated from docs/openapi.json run the demo's scenario against a running stack; a payer signs and sends."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.documents.api import FILE
from infra.local.bytecode import MODULES
from infra.local.outsiders.payer import Payer
from tests.local.running import SHARED, SharedStack

pytestmark = pytest.mark.xdist_group(SHARED)

SCENARIOS = Path(__file__).with_name("clients")
OPERATIONS = sum(len(methods) for methods in json.loads(FILE.read_text())["paths"].values())


def ran(*command: object, cwd: Path) -> str:
    """What a command prints, warnings included."""
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def pay_with(command: list[str], stack: dict[str, Any], folder: Path) -> None:
    """Runs a scenario, pays what it asks for, and checks what it reads afterwards."""
    payer = Payer(stack["rpc"]["sepolia"], stack["payer"]["private_key"])
    description = folder / "stack.json"
    description.write_text(json.dumps(stack))
    process = subprocess.Popen(
        [*command, str(description)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    for transaction in json.loads(process.stdout.readline() or "[]"):
        payer.pay(transaction)
    output, _ = process.communicate("paid\n", timeout=300)
    assert process.returncode == 0
    found = json.loads(output)
    assert (found["status"], found["counted"], found["amount"]) == (409, True, "12.5")
    assert {"payment.confirmed", "payment.confirmed.checkout"} <= set(found["events"])


def test_a_python_client_pays_a_link(shared_stack: SharedStack, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("post_hooks: []\n")
    options = ("--meta", "none", "--fail-on-warning", "--config", "config.yaml")
    generator = Path(sys.executable).with_name("openapi-python-client")
    printed = ran(generator, "generate", "--path", FILE, "--output-path", "payment_client", *options, cwd=tmp_path)
    assert "arning" not in printed
    made = [path for path in (tmp_path / "payment_client/api").glob("*/*.py") if path.stem != "__init__"]
    assert len(made) == OPERATIONS
    pay_with([sys.executable, str(SCENARIOS / "scenario.py"), str(tmp_path)], shared_stack.description(), tmp_path)


def test_a_typescript_client_compiles_and_pays_a_link(shared_stack: SharedStack, tmp_path: Path) -> None:
    shutil.copy(SCENARIOS / "scenario.ts", tmp_path)
    printed = ran(MODULES / ".bin/openapi-ts", "-i", FILE, "-o", "client", "--no-log-file", cwd=tmp_path)
    assert "arning" not in printed and "⚠" not in printed
    assert (tmp_path / "client/sdk.gen.ts").read_text().count("\nexport const ") == OPERATIONS
    options = ("--strict", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10")
    types = ("--types", "node", "--typeRoots", MODULES / "@types", "--outDir", "built")
    ran(MODULES / ".bin/tsc", *options, *types, "--skipLibCheck", "scenario.ts", cwd=tmp_path)
    pay_with(["node", "built/scenario.js"], shared_stack.description(), tmp_path)
