"""Waits hold on a slow machine: each is for a condition, and its limit a multiple of one patience (tests/support/patience.py)."""

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.patience import LEAST, MOST, VARIABLE, calibrate, measure, milliseconds, patience, wait_for
from tests.support.sources import nodes_of, reads_code

ROOT = Path(__file__).parent.parent
SHORT = 2
"""Seconds. What is shorter is no wait for the machine, but what a test is about, or the pause between two looks."""
OF_VIRTUAL_TIME = ("team", "mailing")
"""What has a method `wait` that advances a clock of a test."""
QUIET = {
    "tests/pages/test_two_devices.py": 3,
    "tests/pages/test_crosschain_offers.py": 2,
    "tests/pages/test_never_twice.py": 2,
    "tests/pages/test_apps.py": 1,
    "tests/pages/test_one_confirmation.py": 3,
    "tests/pages/test_page.py": 1,
    "tests/pages/test_walletconnect.py": 4,
    "tests/pages/test_crosschain_one_confirmation.py": 1,
    "tests/pages/test_meanwhile.py": 1,
}
"""How often a page is left alone for a fixed time, so that it could do what it must not: a slow machine makes no such
test fail. Another one needs a reason of this kind."""
POLL_MILLISECONDS = 50
ASLEEP = {
    "tests/deploy/test_lock.py": "until a lock has ended, whose time is that of the test itself",
    "tests/mutants/test_runs.py": "what is to be ended, as it takes too long",
}
"""Where a test sleeps for longer than SHORT, and why."""
ALONE = ("tests/local/clients", "tests/load")
"""Clients that are made for merchants, and the users that put load on a stack, run by themselves."""
FILES = [
    path
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if "node_modules" not in path.parts and not any(path.is_relative_to(ROOT / each) for each in ALONE)
]
"""The tests."""


def bare(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, float]]:
    """The limits of waits that are numbers: what waits, and the number."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="wait")) if name in OF_VIRTUAL_TIME:
                continue
            case ast.Call(func=ast.Attribute(attr=("wait" | "join" | "result" | "settimeout" | "sleep" | "Timer" | "wait_for_timeout") as name), args=[limit, *_]):
                yield from ((name, value) for value in _number(limit))
            case ast.BinOp(left=ast.Call(func=ast.Attribute(attr="monotonic")), op=ast.Add(), right=limit):
                yield from (("monotonic", value) for value in _number(limit))
            case ast.FunctionDef(name=name, args=arguments) if name.startswith(("wait", "await")):
                yield from ((name, value) for default in arguments.defaults for value in _number(default))
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg and keyword.arg.endswith("timeout"):
                yield from ((keyword.arg, value) for value in _number(keyword.value))


def _number(limit: ast.expr) -> list[float]:
    try:
        value = ast.literal_eval(limit)
    except ValueError:
        return []
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@reads_code
def test_no_wait_has_a_bare_number_as_its_limit() -> None:
    refused = {}
    for path in FILES:
        name, found = path.relative_to(ROOT).as_posix(), list(bare(nodes_of(path)))
        pauses = [each for each in found if each[0] == "wait_for_timeout" and each[1] > POLL_MILLISECONDS]
        others = [each for each in found if each[0] != "wait_for_timeout" and each[1] > SHORT]
        left = [each for each in others if each[0] != "sleep" or name not in ASLEEP]
        if left or len(pauses) != QUIET.get(name, 0):
            refused[name] = [*left, *pauses]
    assert refused == {}, "wait for a condition, for a multiple of patience() of tests/support/patience.py"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("process.wait(60)", [("wait", 60)]),
        ("process.wait(patience())", []),
        ("thread.join(60)", [("join", 60)]),
        ("team.wait(25)", []),
        ("get(url, timeout=60)", [("timeout", 60)]),
        ("Config(read_timeout=30.5)", [("read_timeout", 30.5)]),
        ("get(url, timeout=patience(2))", []),
        ("until = time.monotonic() + 60", [("monotonic", 60)]),
        ("until = time.monotonic() + patience()", []),
        ("page.wait_for_timeout(4_000)", [("wait_for_timeout", 4000)]),
        ("time.sleep(60)", [("sleep", 60)]),
        ("def wait_until(done, seconds=300): pass", [("wait_until", 300)]),
    ],
)
def test_bare_numbers_are_found(code: str, expected: list[tuple[str, float]]) -> None:
    assert list(bare(ast.walk(ast.parse(code)))) == expected


def test_every_exception_is_one() -> None:
    assert {*QUIET, *ASLEEP} <= {path.relative_to(ROOT).as_posix() for path in FILES}


def test_the_patience_of_this_run_was_set_before_its_first_test() -> None:
    assert patience() == float(os.environ[VARIABLE])
    assert patience(3) == 3 * patience()
    assert milliseconds(2) == 2_000 * patience()


@pytest.mark.parametrize("variable", [None, "7.5"])
def test_the_patience_is_measured_unless_it_is_set(monkeypatch: pytest.MonkeyPatch, variable: str | None) -> None:
    monkeypatch.delenv(VARIABLE)
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    calibrate()
    assert patience() == 7.5 if variable else LEAST <= patience() <= MOST


@pytest.mark.parametrize(("measured", "expected"), [(0.01, LEAST), (0.1, 120), (9, MOST)])
def test_the_patience_is_longer_on_a_slower_machine_and_has_an_end(
    monkeypatch: pytest.MonkeyPatch, measured: float, expected: float
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("tests.support.patience.measure", lambda: measured)
    calibrate()
    assert patience() == expected


@pytest.mark.parametrize("wrong", ["", "soon", "0", "-1", "inf"])
def test_a_patience_that_is_no_time_is_refused_with_what_to_set(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv(VARIABLE, wrong)
    with pytest.raises(ValueError, match=f"TEST_PATIENCE={wrong} is no number of seconds: set it to such as 60, or leave it out"):
        calibrate()


def test_other_processes_have_the_patience_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "61.5")
    code = "from tests.support.patience import calibrate, patience; calibrate(); print(patience())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "61.5\n"


def test_what_is_measured_takes_no_time_to_speak_of() -> None:
    assert 0 < measure() < 5


def test_a_wait_ends_with_its_condition_and_fails_with_what_it_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([0, "", "there"])
    assert wait_for(lambda: next(answers)) == "there"
    monkeypatch.setenv(VARIABLE, "0.1")
    began = time.monotonic()
    with pytest.raises(AssertionError, match="not within 0 s the last words"):
        wait_for(lambda: False, 2, lambda: "the last words")
    assert time.monotonic() - began >= 0.2
