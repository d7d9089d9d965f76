"""Surviving mutants are reported; tests that do not end are stopped."""

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.mutants import runs
from tests.mutants.coverage import Choice, Coverage, ObservedTest
from tests.mutants.forks import Task, TooLong, result_of, results
from tests.mutants.operators import Module


def alive(folder: Path, test: str) -> list[str]:
    """Returns the mutants of a small module that survive its only test."""
    path, tests = folder / "limits.py", folder / "test_limits.py"
    path.write_text("def is_over(n):\n    return n > 3\n")
    tests.write_text(f"import limits\ndef test():\n    {test}\n")
    module = Module(path)
    name = "test_limits.py::test"
    coverage = Coverage([ObservedTest(name, lines={(str(path), 2)})], set(), [])
    choice = Choice(coverage, {str(path): path.read_text().splitlines()})

    def work() -> Sequence[tuple[int, object]]:
        sys.path.insert(0, str(folder))
        options = [f"--rootdir={folder}", "-c", "/dev/null", str(tests)]
        return runs.collected(options, partial(runs.exchanged, module.mutants, choice))

    return [module.mutants[index].key.split(": ")[1] for index, result in result_of(work) if result == ""]


def test_a_weak_test_leaves_the_boundary_alive(tmp_path: Path) -> None:
    assert sorted(alive(tmp_path, "assert limits.is_over(9)")) == ["3 minus 1", "3 plus 1", "Gt to GtE"]


def test_a_test_of_both_sides_leaves_none_alive(tmp_path: Path) -> None:
    assert alive(tmp_path, "assert limits.is_over(4) and not limits.is_over(3)") == []


def test_a_statement_that_no_test_executes_is_alive(tmp_path: Path) -> None:
    assert len(alive(tmp_path, "pass")) == 4


def test_work_in_processes_returns_raises_or_is_ended() -> None:
    def fail() -> None:
        raise ValueError("no")

    tasks = [Task(0, lambda: "done", 9), Task(1, fail, 9), Task(2, lambda: time.sleep(60), 0.2)]
    ended = dict(results(tasks, 2))
    assert ended[0] == "done"
    assert isinstance(ended[1], ValueError)
    assert isinstance(ended[2], TooLong)


def test_a_mutant_meets_the_tests_of_its_module_first_and_few_others_where_it_is_listed() -> None:
    lines = {("/links/rules.py", 2)}
    tests = [
        ObservedTest("tests/links/test_api.py::slow", 7.0, lines=lines),
        ObservedTest("tests/links/test_api.py::fast", 2.0, lines=lines),
        ObservedTest("tests/payments/links/test_rules.py::near", 3.0, lines=lines),
        ObservedTest("tests/payments/links/test_rules.py::elsewhere", 1.0),
    ]
    mutant = type("M", (), {"path": "/links/rules.py", "statement": 2, "names": frozenset(), "key": "f: a"})

    def chosen(listed: set[str]) -> list[str]:
        return [test.name.split("::")[1] for test in Choice(Coverage(tests, set(), []), {}, listed).tests(mutant)]

    assert chosen(set()) == ["near", "fast", "slow"]
    assert chosen({"f: a"}) == ["near", "fast"]


def test_a_mutant_of_what_an_import_executes_meets_also_the_tests_near_its_module() -> None:
    """A name may stand within a statement of several lines, of which only the first one is recorded."""
    tests = [
        ObservedTest("tests/payments/links/test_rules.py::near", lines={("/links/rules.py", 3)}),
        ObservedTest("tests/payments/links/test_rules.py::elsewhere"),
        ObservedTest("tests/links/test_api.py::using", names=frozenset({"LIMIT"})),
        ObservedTest("tests/links/test_api.py::other", lines={("/links/rules.py", 3)}),
    ]
    facts = {"path": "/links/rules.py", "statement": 0, "names": frozenset({"LIMIT"}), "span": range(0), "key": "f: a"}
    sources = {"/links/rules.py": ["LIMIT = 3", "def is_over(n):", "    return (", "        n > LIMIT", "    )"]}
    chosen = Choice(Coverage(tests, set(), []), sources).tests(type("M", (), facts))
    assert {test.name.split("::")[1] for test in chosen} == {"near", "elsewhere", "using"}
