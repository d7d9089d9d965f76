"""Runs tests on a mutant: in a process whose running functions are changed, or that imports the changed module."""

import ast
import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from tempfile import mkdtemp
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis.internal.conjecture.engine import ConjectureRunner

from tests.mutants.coverage import OPTIONS, Choice, ObservedTest, Rewriting, be_quiet, caches, import_all
from tests.mutants.forks import Task, results
from tests.mutants.javascript import TextMutant
from tests.mutants.operators import Mutant

ConjectureRunner.shrink_interesting_examples = lambda runner: None  # type: ignore[attr-defined, method-assign] # any failing example is enough


AT_ONCE = os.cpu_count() or 1
STARTING_SECONDS = 6.0
"""Seconds that a test may take in addition to five times its usual duration, for busy machines."""

PROGRESS = os.dup(2)
"""A copy of stderr, for progress of processes that have closed their own."""


def code_of(tree: ast.Module, path: str) -> list[CodeType]:
    """Returns the code objects of a module and of all its functions."""
    found, left = [], [compile(tree, path, "exec")]
    while left:
        code = left.pop()
        found.append(code)
        left += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _identity(code: CodeType) -> tuple[Any, ...]:
    return code.co_filename, code.co_qualname, code.co_firstlineno, code.co_code, code.co_names


class Live:
    """The function objects of our modules in this process, whose code can be replaced."""

    def __init__(self, paths: set[str]) -> None:
        import_all(paths)
        self._caches = caches()
        self._functions: dict[tuple[Any, ...], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename in paths:
                self._functions[_identity(each.__code__)].append(each)
        gc.freeze()

    def exchange(self, mutant: Mutant) -> None:
        """Puts the mutant's code into the functions. Raises ValueError if this is not possible."""
        path, module = mutant.path, mutant.module
        before = code_of(module.tree, path)
        with module.mutated(mutant) as tree:
            after = code_of(tree, path)
        if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
            raise ValueError("other functions")
        exchanged = 0
        for old, new in zip(before, after, strict=True):
            for function in self._functions[_identity(old)] if old != new else ():
                function.__code__ = new
                exchanged += 1
        if not exchanged:
            raise ValueError("no running function")
        for cache in self._caches:
            cache.cache_clear()


class Runner:
    """A pytest plugin that passes the collected tests to `work` in place of running them."""

    def __init__(self, work: Callable[[dict[str, pytest.Item]], Any]) -> None:
        self._work, self.result = work, None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.result = self._work({item.nodeid: item for item in session.items})
        return True


def collected(tests: Sequence[str], work: Callable[[dict[str, pytest.Item]], Any]) -> Any:
    """Returns the result of `work` for the collected tests; "import" if they cannot be imported."""
    be_quiet()
    runner = Runner(work)
    with suppress(Exception):  # pytest raises what the import of a plugin raises, unless it is an ImportError
        pytest.main([*OPTIONS, *tests], plugins=[runner])
    return runner.result or "import"


def first_failure(items: Sequence[pytest.Item], tests: Sequence[ObservedTest]) -> str:
    """Returns the name of the first failing test, or "" if all pass. Ends the process if a test exceeds its time limit."""
    for test, item, following in zip_longest(tests, items, items[1:]):
        signal.setitimer(signal.ITIMER_REAL, STARTING_SECONDS + 5 * test.seconds)
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


def exchanged(mutants: Sequence[Any], choice: Choice, items: dict[str, pytest.Item]) -> list[tuple[int, Any]]:
    """Runs every mutant in a fork of this process, which has collected the tests; returns the first failures."""
    live = Live({mutant.path for mutant in mutants})

    def meet(mutant: Any, tests: Sequence[ObservedTest]) -> str:
        if isinstance(mutant, TextMutant):
            _serve(mutant)
        else:
            live.exchange(mutant)
        return first_failure([items[test.name] for test in tests], tests)

    outcome = []
    for index, result in results(_tasks(mutants, choice, meet), AT_ONCE):
        if isinstance(result, str) and result:
            choice.found[mutants[index].path, result] += 1
        outcome.append((index, result))
        _show_progress(len(outcome), len(mutants), mutants[index].key if result == "" else None)
    return outcome


def imported(mutants: Sequence[Any], choice: Choice) -> Iterator[tuple[int, Any]]:
    """Runs every mutant in a fork of this process, which has imported no module of ours; yields the first failures."""

    def meet(mutant: Any, tests: Sequence[ObservedTest]) -> str:
        with mutant.module.mutated(mutant) as tree:
            sys.meta_path.insert(0, Rewriting(lambda path: tree if str(path) == mutant.path else None))
            files = list(dict.fromkeys(test.file for test in tests))
            found = collected(files, lambda items: [first_failure([items[test.name] for test in tests], tests)])
            return str(found[0])

    return results(_tasks(mutants, choice, meet), AT_ONCE)


def _tasks(
    mutants: Sequence[Any], choice: Choice, meet: Callable[[Any, Sequence[ObservedTest]], str]
) -> Iterator[Task]:
    for index, mutant in enumerate(mutants):
        tests = choice.tests(mutant)
        yield Task(
            index, partial(meet, mutant, tests), 10 * STARTING_SECONDS + 10 * sum(test.seconds for test in tests)
        )


def _serve(mutant: TextMutant) -> None:
    """Makes the driver of the page's tests read the mutant in place of the script of its name."""
    copy = Path(mkdtemp(prefix="mutant-")) / Path(mutant.path).name
    copy.write_text(mutant.source)
    os.environ["CHANGED_SCRIPT"] = str(copy)


def _show_progress(done: int, every: int, alive: str | None) -> None:
    if alive is not None or done % 50 == 0:
        os.write(PROGRESS, f"  {done} of {every}{f': alive: {alive}' if alive else ''}\n".encode())
