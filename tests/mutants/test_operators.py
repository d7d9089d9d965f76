"""Each operator makes the changes of its name and no others."""

import ast
from pathlib import Path

import pytest

from tests.mutants import javascript
from tests.mutants.operators import Module


def made(folder: Path, source: str) -> dict[str, str]:
    """Returns the changes of a module: name and changed line."""
    path = folder / "module.py"
    path.write_text(source)
    module = Module(path)
    found = {}
    for mutant in module.mutants:
        with module.mutated(mutant) as tree:
            lines = ast.unparse(tree).splitlines()
        found[mutant.key.split(": ", 1)[1].rsplit(": ", 1)[0]] = lines[-1].strip()
    assert ast.unparse(module.tree) == ast.unparse(ast.parse(source)), "the module is left as it was"
    return found


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("x = a < b", {"Lt to LtE": "x = a <= b"}),
        ("x = a in b", {"In to NotIn": "x = a not in b"}),
        ("x = a and not b", {"and to or": "x = a or not b", "not removed": "x = a and b"}),
        ("x = a + 2", {"Add to Sub": "x = a - 2", "2 plus 1": "x = a + 3", "2 minus 1": "x = a + 1"}),
        ("x = True", {"True to False": "x = False"}),
        ("x = 'paid'", {}),
        ("x = a == 'paid'", {"Eq to NotEq": "x = a != 'paid'", "'paid' changed": "x = a == 'XXpaid'"}),
        ("x = Decimal('0.5')", {"'0.5' changed": "x = Decimal('0.51')"}),
        ("x = 'pk = :pk AND at <= :end'", {"'pk = :pk AND at <= :end' to 'pk = :pk AND at < :end'": "x = 'pk = :pk AND at < :end'"}),
        ("announce(a)", {"call removed": "pass"}),
        ("log.info('told', of=a)", {}),
        ("x = sorted(a, key=b)", {"sorted to list": "x = list(a)", "key= dropped": "x = sorted(a)"}),
        ("x = Link(token=a)", {}),
        ("x = a[1:]", {"slice without lower": "x = a[:]", "1 plus 1": "x = a[2:]", "1 minus 1": "x = a[0:]"}),
        ("'''A docstring.'''", {}),
    ],
)
def test_a_line_has_these_changes(line: str, changes: dict[str, str], tmp_path: Path) -> None:
    assert made(tmp_path, line) == changes


def test_conditions_returns_and_raises_are_changed_but_no_message(tmp_path: Path) -> None:
    source = "def f(a):\n    if a:\n        raise E('no')\n    return a"
    assert set(made(tmp_path, source)) == {"condition is true", "condition is false", "raise removed", "returns None"}


def test_the_same_text_twice_has_two_names(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("x = a + b + c\n")
    assert [mutant.key for mutant in Module(path).mutants] == [
        "module: Add to Sub: x = a + b + c",
        "module: Add to Sub: x = a + b + c #2",
    ]


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("x = a === b;", ["x = a !== b;"]),
        ("x = a ?? 0n; // a + b", ["x = a && 0n; // a + b", "x = a ?? 1n; // a + b"]),
        ("if (f(a)) g();", ["if (true) g();", "if (false) g();"]),
        ("return a;", ["return;"]),
        ('x = "a+b";', ['x = "XXa+b";']),
        ("x = (/a+/);", []),
        ("x = all.some(y);", ["x = all.every(y);"]),
    ],
)
def test_a_line_of_javascript_has_these_changes(line: str, changes: list[str], tmp_path: Path) -> None:
    path = tmp_path / "module.js"
    path.write_text(line)
    assert [mutant.source for mutant in javascript.mutants(path)] == changes
