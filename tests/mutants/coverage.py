"""Which statements each test of a room executes, and which tests are run on a mutant."""

import ast
import builtins
import functools
import gc
import importlib.abc
import importlib.machinery
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.mutants.rooms import ROOT

OPTIONS = ["-q", "-p", "no:cacheprovider", "--capture=sys", "--tb=no", "--no-header", "--no-summary"]
Line = tuple[str, int]
SECONDS, LISTED_SECONDS = 30.0, 8.0
"""Seconds of tests per mutant in addition to those of its own module: the fastest that execute it. The second number is
for mutants listed in survivors.toml."""


@dataclass
class ObservedTest:
    """The facts of a test from a run without mutants."""

    name: str
    seconds: float = 0.0
    passed: bool = True
    lines: set[Line] = field(default_factory=set)
    fixtures: set[str] = field(default_factory=set)
    names: frozenset[str] = frozenset()  # the names that its code uses

    @property
    def file(self) -> str:
        return self.name.split("::")[0]


@dataclass
class Coverage:
    tests: list[ObservedTest]
    at_import: set[Line]
    modules: list[str]
    failed: list[str] = field(default_factory=list)  # without any mutant, or skipped


class Rewriting(importlib.abc.MetaPathFinder):
    """Imports modules with changed syntax trees; to be put first in `sys.meta_path`."""

    def __init__(self, change: Callable[[Path], ast.Module | None]) -> None:
        self._change = change

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.split(".")[0] != "chalicelib":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not (spec.origin or "").endswith(".py"):
            return spec
        tree = self._change(Path(str(spec.origin)))
        if tree is not None:
            spec.loader = _TreeLoader(name, str(spec.origin), compile(tree, str(spec.origin), "exec"))
        return spec


class _TreeLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


class _Probes(ast.NodeTransformer):
    """Calls `__seen__((path, line))` before each statement of a function."""

    def __init__(self, path: str) -> None:
        self._path, self._in_function = path, False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        outside = self._in_function
        self._in_function |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        super().generic_visit(node)
        if self._in_function:
            for name in ("body", "orelse", "finalbody"):
                statements = getattr(node, name, None)
                if isinstance(statements, list):
                    setattr(node, name, [each for one in statements for each in self._probed(one)])
        self._in_function = outside
        return node

    def _probed(self, statement: ast.stmt) -> tuple[ast.stmt, ...]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return (statement,)  # a docstring has to stay the first statement
        return self._probe(statement), statement

    def _probe(self, statement: ast.stmt) -> ast.stmt:
        line = ast.Constant((self._path, statement.lineno))
        call = ast.Expr(ast.Call(ast.Name("__seen__", ast.Load()), [line], []))
        return ast.copy_location(call, statement)


def with_probes(path: Path) -> ast.Module:
    tree = _Probes(str(path)).visit(ast.parse(path.read_text()))
    return ast.fix_missing_locations(tree)


class _Observer:
    """A pytest plugin that records for every test its duration and the lines that it executes."""

    def __init__(self, targets: Sequence[Path]) -> None:
        self._targets, self._caches = {str(path) for path in targets}, list[Any]()
        self.tests: dict[str, ObservedTest] = {}
        self.at_import: set[Line] = set()
        self._seen: set[Line] = set()
        self._fixtures: dict[str, tuple[float, set[Line]]] = {}
        builtins.__seen__ = self._seen.add  # type: ignore[attr-defined]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        import_all(self._targets)
        self.at_import = set(self._seen)
        self._caches = [each for each in caches() if each.__wrapped__.__code__.co_filename in self._targets]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        self._seen.clear()
        for cache in self._caches:  # or only the first test that uses it would execute what it holds
            cache.cache_clear()
        test = self.tests.setdefault(item.nodeid, ObservedTest(item.nodeid))
        function = getattr(item.function, "hypothesis", None)  # else the names would be those of Hypothesis's own code
        test.names = frozenset(_names_in((function.inner_test if function else item.function).__code__))
        test.fixtures = {
            _name(each)
            for defined in item._fixtureinfo.name2fixturedefs.values()
            for each in defined
            if each.scope != "function"
        }
        started = time.monotonic()
        result = yield
        test.seconds += time.monotonic() - started
        test.lines |= self._seen
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before, started = set(self._seen), time.monotonic()
        self._seen.clear()
        result = yield
        took = time.monotonic() - started
        self._fixtures[_name(fixturedef)] = (took, set(self._seen))
        self.tests[request._pyfuncitem.nodeid].seconds -= took if hasattr(request, "_pyfuncitem") else 0
        self._seen |= before
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.tests[report.nodeid].passed = False

    def coverage(self) -> Coverage:
        for test in self.tests.values():
            for fixture in test.fixtures & self._fixtures.keys():
                took, lines = self._fixtures[fixture]
                test.seconds += took
                test.lines |= lines
        own = ("app", "chalicelib", "infra", "tests", "conftest")
        modules = [name for name in sys.modules if name.split(".")[0] not in own]
        failed = [test.name for test in self.tests.values() if not test.passed]
        return Coverage([test for test in self.tests.values() if test.passed], self.at_import, modules, failed)


def _names_in(code: CodeType) -> Iterator[str]:
    """Yields the names that a function uses, also inside its comprehensions and inner functions."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names_in(each)


def _name(fixture: Any) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def _is_near(path: str, test: ObservedTest) -> bool:
    """tests/payments/links/fees/test_rules.py is near to payments/links/fees/rules.py, and tests/pages/test_calldata.py to every calldata.js."""
    module, file = Path(path), Path(test.file)
    return file.stem == f"test_{module.stem}" and (file.parent.name == module.parent.name or module.suffix == ".js")


def caches() -> list[Any]:
    """Returns the cached functions of our modules."""
    gc.unfreeze()  # else frozen objects are not listed
    found = (each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper))
    return [each for each in found if str(each.__module__).startswith("chalicelib")]


def import_all(paths: Iterable[str]) -> None:
    """Imports modules that else the first call that needs them imports."""
    for path in paths:
        if path.endswith(".py") and path.startswith(str(ROOT)):
            import_module(".".join(Path(path).relative_to(ROOT).with_suffix("").parts))


def observe(tests: Sequence[str], targets: Sequence[Path]) -> Coverage:
    """Runs all the tests on the unchanged code. Raises RuntimeError if they cannot be collected."""
    be_quiet()
    observer = _Observer(targets)
    sys.meta_path.insert(0, Rewriting(with_probes))
    status = pytest.main([*OPTIONS, *tests], plugins=[observer])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the tests of {', '.join(tests)} cannot be run: pytest ends with {status!r}")
    return observer.coverage()


_TOP_LEVEL = re.compile(r"^\w.*(?:\n(?:[ )\]}].*)?)*", re.MULTILINE)
"""A statement that is not indented, with the lines that belong to it."""


class Choice:
    """Chooses the tests for a mutant: first those that detected others of its module, then the nearest and fastest."""

    def __init__(self, coverage: Coverage, sources: Mapping[str, list[str]], listed: Container[str] = ()) -> None:
        self._coverage, self._sources, self._listed = coverage, sources, listed
        self.found: Counter[tuple[str, str]] = Counter()

    def tests(self, mutant: Any) -> list[ObservedTest]:
        using = self._executing(mutant)
        ordered = sorted(using, key=lambda test: (not test.names & mutant.names, *self._turn(mutant.path, test)))
        chosen, left = [], LISTED_SECONDS if mutant.key in self._listed else SECONDS
        for test in ordered:
            if _is_near(mutant.path, test):
                chosen.append(test)
            elif not chosen or left >= test.seconds:
                chosen.append(test)
                left -= test.seconds
        return chosen

    def _turn(self, path: str, test: ObservedTest) -> tuple[Any, ...]:
        near = _is_near(path, test)
        return (-self.found[path, test.name], not near, test.file if near else "", test.seconds)

    def _executing(self, mutant: Any) -> list[ObservedTest]:
        """Returns the tests that execute the mutant's statement; if an import does, those near or using its names."""
        tests, statement = self._coverage.tests, (mutant.path, mutant.statement)
        if mutant.statement and statement not in self._coverage.at_import:
            return [test for test in tests if statement in test.lines]
        names = self._all_names(mutant)
        wanted = (
            {statement} | {(mutant.path, line) for line in mutant.span} | (self._lines_with(names) if names else set())
        )
        using = [test for test in tests if test.lines & wanted or test.names & names]
        using = using or [test for test in tests if any(path == mutant.path for path, _ in test.lines)] or tests
        return using + [test for test in tests if _is_near(mutant.path, test) and test not in using]

    def _all_names(self, mutant: Any) -> set[str]:
        """Returns the names that the statement defines, and those at module level that are defined by them."""
        names, before = set(mutant.names), set[str]()
        while names != before:
            before = set(names)
            for block in _TOP_LEVEL.findall("\n".join(self._sources[mutant.path])):
                defined = re.match(r"(?:async def |def |class )?(\w+)", block)
                if defined and any(re.search(rf"\b{name}\b", block) for name in before):
                    names.add(defined[1])
        return names

    def _lines_with(self, names: set[str]) -> set[Line]:
        wanted = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
        return {
            (path, number)
            for path, lines in self._sources.items()
            for number, line in enumerate(lines, 1)
            if wanted.search(line)
        }


def be_quiet() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
