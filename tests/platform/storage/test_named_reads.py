"""Keys are made in `records.py` and used in `store.py`: no other module names a table or a key, or reads by one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sources import reads_code, tree_of

ROOT = Path(__file__).parents[3]
KEY_NAMES = {
    "Key", "KeyPattern", "KeyRange", "PAYMENTS", "IDENTITY", "SESSIONS", "WEBHOOKS", "OPS", "KEYS", "TABLES",
}  # fmt: skip
KEY_ATTRIBUTES = {"KEY", "key_of", "pk", "sk"}
READS = {
    "get",
    "get_many",
    "query",
    "query_mixed",
    "page",
    "due",
    "count",
    "uncount",
    "newest",
    "count_listed",
    "client",
}
GENERIC = (
    "chalicelib/base/records.py",
    "chalicelib/base/lists.py",
    "chalicelib/platform/storage/",
    "chalicelib/platform/checking.py",
    "infra/documents/data.py",
    "tests/bench/",
    "infra/recovery/",
    "infra/alarm_resources.py",
    "infra/dashboard.py",
    "infra/resources.py",
    "infra/tables.py",
    "infra/resources.py",
    "infra/alarm_resources.py",
    "infra/dashboard.py",
)
"""A restore, and what asks whether one is under way or what a function can use, works on tables, whatever they hold. Measurements in
tests/bench read item by item to compare that with what the flows do. The template makes the tables, and watches them."""


def _modules() -> list[Path]:
    found = [ROOT / "app.py", *(ROOT / "chalicelib").rglob("*.py"), *(ROOT / "infra").rglob("*.py")]
    return [path for path in found if not _may_make_keys(path)]


def _may_make_keys(path: Path) -> bool:
    name = path.relative_to(ROOT).as_posix()
    of_room = name.startswith("chalicelib/") and path.name in ("records.py", "store.py")
    return of_room or name.startswith(GENERIC) or "node_modules" in name


@reads_code
def test_modules_read_by_name_alone() -> None:
    found = [
        f"{path.relative_to(ROOT)} {offence}"
        for path in _modules()
        for offence in offences(tree_of(path))
    ]
    assert not found, f"{'; '.join(found)}. Call a named read of a store.py, or add one."


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("from chalicelib.base.records import Key", "uses Key"),
        ("from chalicelib.base.records import PAYMENTS as P", "uses PAYMENTS"),
        ("Link.KEY.of(token='x')", "uses .KEY"),
        ("services.store.get(Link, x)", "services.store.get"),
        ("store = services.store\nstore.query(Link, x)", "store.query"),
        ("self._services.store.due(Link, x, y)", "self._services.store.due"),
        ("read = services.store.get_many", "services.store.get_many"),
    ],
)
def test_what_is_refused(code: str, what: str) -> None:
    assert any(what in offence for offence in offences(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "services.store.write(link)",
        "from chalicelib.base.records import Record",
        "from chalicelib.payments.links import store\nstore.link(services.store, token)",
        "from chalicelib.platform.access.rate_limits import store\nstore.count(services.store, window)",
        "cache.get(name)",
    ],
)
def test_what_is_admitted(code: str) -> None:
    assert not list(offences(ast.parse(code)))


def offences(tree: ast.Module) -> Iterator[str]:
    modules = _imported_stores(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "chalicelib.base.records":
            yield from (f"line {node.lineno} uses {each.name}" for each in node.names if each.name in KEY_NAMES)
        if isinstance(node, ast.Attribute):
            if node.attr in KEY_ATTRIBUTES:
                yield f"line {node.lineno} uses .{node.attr}"
            if node.attr in READS and _is_store(node.value, modules):
                yield f"line {node.lineno} reads with {ast.unparse(node)}"


def _imported_stores(tree: ast.Module) -> set[str]:
    """Names under which the module imports a `store.py`."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {each.asname or each.name for node in imports for each in node.names if each.name == "store"}


def _is_store(value: ast.expr, modules: set[str]) -> bool:
    """Whether an expression is the Store: `services.store`, or a variable of that name."""
    if isinstance(value, ast.Attribute):
        return value.attr == "store"
    return isinstance(value, ast.Name) and value.id == "store" and value.id not in modules
