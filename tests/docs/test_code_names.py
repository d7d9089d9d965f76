"""Names in the code: a function is a verb and a noun, a module has one name wherever it is imported, and files that
docstrings name exist."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import ROOT
from tests.support.sources import nodes_of, reads_code, tree_of

pytestmark = reads_code

FOLDERS = ("chalicelib", "infra", "tests")
PYTHON = [ROOT / "app.py", *sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
FILES = [path for path in PYTHON if "node_modules" not in path.parts]
PRODUCT = [path for path in FILES if ROOT / "tests" not in path.parents]
SCRIPTS = [
    path for path in sorted((ROOT / "chalicelib/pages").rglob("*.js")) if "walletconnect" not in path.as_posix()
]
SCRIPT_FUNCTION = re.compile(r"function +([a-z]\w*) *\(|^  (?:async |static )*(#?[a-z]\w*)\([^)]*\) \{", re.MULTILINE)
"""A function or method of a script. A capital begins a component, which is a noun."""
IRREGULAR = re.compile(
    "begun|bought|brought|built|caught|chosen|done|drawn|fallen|forgotten|found|given|gone|held|hidden|kept|known|lent|"
    "lost|made|meant|paid|said|seen|sent|shown|sold|spent|spoken|stolen|taken|thrown|told|unpaid|untold|won|written"
)
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
AFTER_PARTICIPLES = {"again", "at", "back", "before", "by", "for", "from", "in", "of", "on", "to", "up", "with", "within"}
"""Words after which no noun follows: `taken_by` describes as little as `taken`."""


def module_of(path: Path) -> str:
    """The dotted name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions_of(path: Path) -> Iterator[ast.FunctionDef]:
    """The functions and methods of a module that are no properties."""
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef) and not any("property" in ast.unparse(each) for each in node.decorator_list):
            yield node


def words_of(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_#").split("_")


def is_participle(word: str) -> bool:
    return (word.endswith("ed") or IRREGULAR.fullmatch(word) is not None) and word not in NO_PARTICIPLES


def hides_what_is_done(name: str) -> bool:
    """Whether a name is a participle without a noun, as `created` or `taken_by`, which do not say whether something
    is done or described. `typed_data` names a value."""
    first, *others = words_of(name)
    return is_participle(first) and (not others or others[0] in AFTER_PARTICIPLES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("_created", True), ("takenBack", True), ("typed_data", False), ("create_request", False), ("fee_of", False)],
)
def test_a_participle_without_a_noun_is_found(name: str, expected: bool) -> None:
    assert hides_what_is_done(name) is expected


def test_functions_are_named_by_what_they_do_or_return() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in PRODUCT
        for node in functions_of(path)
        if hides_what_is_done(node.name)
    }
    assert not found, "a function is a verb and a noun, or the noun of what it returns"


def test_functions_of_the_pages_are_named_by_what_they_do_or_return() -> None:
    found = {
        f"{path.relative_to(ROOT)} {name}"
        for path in SCRIPTS
        for names in SCRIPT_FUNCTION.findall(path.read_text())
        for name in names
        if name and hides_what_is_done(name)
    }
    assert not found, "a function is a verb and a noun, or the noun of what it returns"


def names_bound_in(function: ast.FunctionDef) -> set[str]:
    """Its parameters, and what it or a function in it assigns or defines."""
    arguments = function.args
    bound = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            bound.add(node.name)
    return bound


def test_no_local_name_hides_a_function_of_its_module() -> None:
    defined = {module_of(path): {node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)} for path in PRODUCT}
    hidden = list[str]()
    for path in PRODUCT:
        known = set(defined[module_of(path)])
        for node in tree_of(path).body:
            if isinstance(node, ast.ImportFrom):
                known |= {each.asname or each.name for each in node.names if each.name in defined.get(node.module or "", ())}
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef):
                hidden += (f"{path}:{node.lineno} {node.name}: {name}" for name in names_bound_in(node) & known)
    assert not hidden, hidden


def test_functions_are_short_and_take_few_arguments() -> None:
    """At most 50 lines, and seven arguments: more become a frozen dataclass."""
    found = list[str]()
    for path in PRODUCT:
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                arguments = {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                lines, number = node.end_lineno - node.lineno + 1, len(arguments - {"self", "cls"})
                if lines > 50 or number > 7:
                    found.append(f"{path}:{node.lineno} {node.name}: {lines} lines, {number} arguments")
    assert not found, found


PATH = re.compile(r"(?<![\w/.:-])((?:[\w-]+/)*[\w-]+\.(?:py|js|md|toml|yaml))\b")
"""A file of the project, as a docstring names it: by its path, or by the end of it."""
NO_PATHS = {"Node.js"}


def test_files_that_docstrings_name_exist() -> None:
    others = [path for folder in ("chalicelib", "infra", "docs") for path in (ROOT / folder).rglob("*.*")]
    paths = [path for path in others if "node_modules" not in path.parts]
    listed = [path.relative_to(ROOT).parts for path in (*FILES, *ROOT.glob("*.*"), *paths)]
    ends = {"/".join(parts[start:]) for parts in listed for start in range(len(parts))}
    texts = {
        (path, node.value.value)
        for path in PRODUCT
        for node in nodes_of(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    named = {(path.name, name) for path, text in texts for name in PATH.findall(text)}
    assert {each for each in named if each[1] not in ends | NO_PATHS} == set()


def imports_of(path: Path, modules: set[str]) -> Iterator[tuple[str, str]]:
    """The modules of this project that a file imports as a whole, each with the name that it has there."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            for each in node.names:
                if f"{node.module}.{each.name}" in modules:
                    yield f"{node.module}.{each.name}", each.asname or each.name
        elif isinstance(node, ast.Import):
            yield from ((each.name, each.asname) for each in node.names if each.name in modules and each.asname)


def is_neighbour(module: str, path: Path) -> bool:
    """Whether a file is in the package of a module, or is one of its tests: there it may have its own name alone."""
    package = module.rpartition(".")[0]
    here = module_of(path) if path.stem == "__init__" else module_of(path).rpartition(".")[0]
    return package in (here, here.replace("tests", "chalicelib", 1))


def test_a_module_has_one_name_and_a_name_means_one_module() -> None:
    modules = {module_of(path) for path in FILES}
    names: defaultdict[str, set[str]] = defaultdict(set)
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for path in FILES:
        for module, name in imports_of(path, modules):
            if not (is_neighbour(module, path) and name == module.rpartition(".")[2]):
                names[module].add(name)
                meanings[name].add(module)
    assert {module: sorted(each) for module, each in names.items() if len(each) > 1} == {}
    assert {name: sorted(each) for name, each in meanings.items() if len(each) > 1} == {}
