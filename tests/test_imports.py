"""What a cold start pays for, and how modules introduce themselves."""

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

import pytest

from tests.support.sources import nodes_of, reads_code, tree_of

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
    "dnspython": "dns",
    "cbor2": "webauthn",  # what webauthn itself reads with
    "web3": "ens",  # the package of it that normalizes names
    "pyunormalize": "ens",  # what ens itself runs on
}
"""Where a package's import name is not its own name with underscores."""
MOST_LINES = 400
LATE = (
    "web3",
    "ens",
    "pyunormalize",
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
    "webauthn",
    "cbor2",
    "dns",
    "cryptography",
    "OpenSSL",
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


def test_a_start_does_not_look_for_garbage_in_what_it_imports() -> None:
    script = """
import app, gc
app.load_services().store.client
import chalicelib.crosschain.service.payment_intents.running
print(sum(each["collections"] for each in gc.get_stats()))
"""
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(answer.stdout) <= 30  # those of the interpreter's own start; 140 with Python's own thresholds


def test_the_app_starts_without_our_infrastructure(loaded: set[str]) -> None:
    assert not loaded & {"infra", "tests", "yaml"}


def test_the_app_starts_with_light_tables_of_routes_however_many_operations_there_are(loaded: set[str]) -> None:
    """No view, model, flow, rule or record: they come with the first call that needs them."""
    ours = {name for name in loaded if name.startswith("chalicelib.")}
    light = {"access.modes", "http.operation", "http.routing", "setting_readers", "settings"}
    packages = {name for name in ours if (ROOT / name.replace(".", "/") / "__init__.py").exists()}
    assert {name for name in ours - packages if not name.endswith(".routes")} == {f"chalicelib.platform.{name}" for name in light} | {
        "chalicelib.base.frozen",
        "chalicelib.commerce.service.operation_table",  # the table that its routes are made of
    }
    assert "pydantic" not in loaded


WORKERS = {
    "deliver_webhook": ("webhooks.jobs", 60),
    "scan_chain": ("payments.scanning.jobs", 77),
    "record_transfers": ("payments.recording.jobs", 94),
    "expire_links": ("payments.links.expiry", 52),
    "track_announced": ("payments.announcements.tracking", 122),
    "run_payment_intents": ("crosschain.service.payment_intents.running", 176),
    "run_gasless": ("gasless.running", 130),
    "check_domains": ("accounts.domains.jobs", 52),
    "check_offramps": ("offramp.service.checking", 91),
    "send_mail": ("mail.flows", 62),
    "run_commerce": ("commerce.service.due_payments", 130),
}
"""The module that each worker calls, and how many of our modules it may load beside those of `import app`, without the
packages themselves, which hold one line each."""
PACKAGES = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("chalicelib/**/__init__.py")}


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_loads_no_view_and_no_model_and_little_else(name: str, loaded: set[str]) -> None:
    module, most = WORKERS[name]
    script = f"import json, sys, app; app.load_services(); import chalicelib.{module}; print(json.dumps(list(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = {each for each in json.loads(answer.stdout) if each.startswith("chalicelib.")} - loaded - PACKAGES
    assert not {each for each in ours if each.rpartition(".")[2] in ("api", "schemas", "view", "pipeline", "responses")}
    assert not {"pydantic", "boto3", "Crypto"} & set(json.loads(answer.stdout)), "they take a fifth of a start"
    count = f"{name} loads {len(ours)} modules, {most} are allowed by WORKERS in tests/test_imports.py"
    assert len(ours) <= most, f"{count}: import inside a function what few messages need, or raise it: {sorted(ours)}"


@reads_code
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_service_imports_every_package_that_it_ships(name: str) -> None:
    wanted = IMPORT_NAMES.get(name, name.replace("-", "_"))
    assert any(wanted in imported_by(path) for path in MODULES if "infra" not in path.parts)


@cache
def imported_by(path: Path) -> set[str]:
    """The packages that a module imports, at its head or inside a function."""
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def imports_of(path: Path, files: Set[str]) -> Iterator[str]:
    """Those of the project's files that a Python module or a script of the page imports, wherever it does."""
    if path.suffix == ".js":
        for name in re.findall(r'(?:from|import\()\s*"(\./[^"]+)"', path.read_text()):
            yield str((path.parent / name).relative_to(ROOT))
        return
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            folder = node.module.replace(".", "/")
            yield from files & {f"{folder}.py", *(f"{folder}/{each.name}.py" for each in node.names)}


@reads_code
def test_no_files_import_each_other_in_a_circle() -> None:
    files = [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "chalicelib").rglob("*.js")]
    named = {str(path.relative_to(ROOT)): path for path in files if "node_modules" not in path.parts}
    graph = {name: set(imports_of(path, named.keys())) for name, path in named.items()}
    assert sum(map(len, graph.values())) > 3000
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the files


@reads_code
def test_a_module_says_in_its_first_line_what_it_holds_and_stays_short() -> None:
    wrong = {str(path.relative_to(ROOT)): found for path in MODULES if (found := list(flaws(tree_of(path), path.read_text())))}
    assert not wrong


def flaws(tree: ast.Module, text: str) -> Iterator[str]:
    """What is wrong with the first line and the length of a module."""
    said = ast.get_docstring(tree)
    if not said:
        yield "it has no docstring"
    elif said.splitlines()[0].rstrip()[-1] not in ".:":
        yield "the first line of its docstring is no sentence"
    if len(text.splitlines()) > MOST_LINES:
        yield f"it has more than {MOST_LINES} lines"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"""What it holds."""\n', 0),
        ('"""What it holds:\n\nmore."""\n', 0),
        ('"""What it holds"""\n', 1),
        ("x = 1\n", 1),
        ("x = 1\n" * (MOST_LINES + 1), 2),
    ],
)
def test_each_flaw_of_a_module_is_found(text: str, count: int) -> None:
    assert len(list(flaws(ast.parse(text), text))) == count
