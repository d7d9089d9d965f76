"""A test that leaves the process in another state is named, on real runs of pytest in a folder of their own."""

import os
import subprocess
import sys
import textwrap
import time
import timeit
from pathlib import Path

from tests.support.left_behind import MEMOS, Process
from tests.support.patience import measure

ROOT = Path(__file__).parent.parent
MODULE = """
    import functools
    LIMIT, KNOWN = 1, {}

    class Sender:
        def send(self):
            return 1

    @functools.cache
    def limit():
        return LIMIT
"""


def run(folder: Path, tests: str) -> str:
    """What pytest says of these tests, which come before one that passes; `product` is a module of ours."""
    (folder / "chalicelib").mkdir()
    (folder / "chalicelib" / "__init__.py").touch()
    (folder / "chalicelib" / "product.py").write_text(textwrap.dedent(MODULE))
    (folder / "test_it.py").write_text(
        "import os, time\nimport pytest\nfrom chalicelib import product\n" + textwrap.dedent(tests) + "\n\ndef test_after():\n    pass\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = ["-p", "tests.support.left_behind", "-p", "no:cacheprovider", "-rA", "--rootdir", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "PASSED test_it.py::test_after" in done.stdout, done.stdout + done.stderr
    return done.stdout


LEFT = {
    "os.environ['LEFT_LIMIT'] = '7'": "environment variable LEFT_LIMIT",
    "product.LIMIT = 2": "chalicelib.product.LIMIT",
    "product.MORE = 2": "chalicelib.product.MORE",
    "del product.MORE": "chalicelib.product.MORE",
    "product.KNOWN['a'] = 1": "chalicelib.product.KNOWN",
    "product.Sender.send = lambda self: 2": "chalicelib.product.Sender.send",
    "time.monotonic = lambda: 1.0": "time.monotonic",
}
"""What tests leave behind, and how it is named."""


def test_a_test_that_changes_what_others_see_is_named_with_what_it_changed(tmp_path: Path) -> None:
    tests = [f"def test_leaves_{number}():\n    {left}" for number, left in enumerate(LEFT)]
    said = run(tmp_path, "\n\n".join(tests))
    for number, expected in enumerate(LEFT.values()):
        assert f"test_it.py::test_leaves_{number} leaves behind: {expected}\n" in said
        assert f"ERROR test_it.py::test_leaves_{number}" in said


def test_an_attribute_that_was_written_past_its_module_is_named_with_the_file(tmp_path: Path) -> None:
    assert "test_it.py leaves behind: chalicelib.product.LIMIT\n" in run(tmp_path, "def test_writes():\n    vars(product)['LIMIT'] = 2")


def test_a_cache_that_was_filled_while_something_was_patched_is_named(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_fills(monkeypatch):\n    monkeypatch.setattr(product, 'LIMIT', 2)\n    assert product.limit() == 2")
    assert "test_fills leaves behind: chalicelib.product.limit() is cached, and was computed from something that is no more" in said


HARMLESS = (
    "monkeypatch.setattr(product, 'LIMIT', 2)",
    "monkeypatch.setenv('LEFT_LIMIT', '7')",
    "monkeypatch.setitem(product.KNOWN, 'a', 1)",
    "product.limit()",
    "import email.policy",
)


def test_what_is_put_back_is_not_left_behind(tmp_path: Path) -> None:
    tests = [f"def test_harmless_{number}(monkeypatch):\n    {each}" for number, each in enumerate(HARMLESS)]
    said = run(tmp_path, "\n\n".join(tests))
    assert all(f"PASSED test_it.py::test_harmless_{number}" in said for number in range(len(HARMLESS)))
    assert "leaves behind" not in said


FIXTURE = """
    @pytest.fixture(scope="{scope}", autouse={autouse})
    def limited():
        os.environ["LEFT_LIMIT"] = "7"
        yield
        {end}

    def test_first():
        pass

    def test_second(limited):
        pass
"""


def test_a_fixture_of_a_file_may_change_it_as_long_as_it_lives(tmp_path: Path) -> None:
    end = "del os.environ['LEFT_LIMIT']"
    assert "leaves behind" not in run(tmp_path, FIXTURE.format(scope="module", autouse=False, end=end))


def test_a_fixture_of_a_file_that_does_not_put_it_back_is_named_with_the_file(tmp_path: Path) -> None:
    said = run(tmp_path, FIXTURE.format(scope="module", autouse=True, end="pass"))
    assert "test_it.py leaves behind: environment variable LEFT_LIMIT" in said


def test_what_a_fixture_of_all_tests_does_is_not_charged_to_the_file_that_needs_it_first(tmp_path: Path) -> None:
    assert "leaves behind" not in run(tmp_path, FIXTURE.format(scope="session", autouse=False, end="pass"))


def test_what_a_fixture_of_all_tests_does_between_two_files_is_not_charged_to_the_second(tmp_path: Path) -> None:
    (tmp_path / "test_before.py").write_text("def test_before():\n    pass\n")
    assert "leaves behind" not in run(tmp_path, FIXTURE.format(scope="session", autouse=True, end="pass"))


def test_what_may_be_filled_exists() -> None:
    for name in MEMOS:
        module, _, attribute = name.rpartition(".")
        assert attribute in (ROOT / Path(*module.split("."))).with_suffix(".py").read_text(), name


def test_a_look_costs_less_than_a_hundredth_of_a_test() -> None:
    """A test takes 200 ms of a core on average, about as much as five times the work of `measure`, and is looked at twice."""
    process, test = Process(compares_modules=False), timeit.timeit(measure, timer=time_of_children, number=5)
    process.look()
    for look in (process.look, process.changes):
        assert min(timeit.repeat(look, timer=time.thread_time, number=1, repeat=20)) < test / 100


def time_of_children() -> float:
    """The seconds of a core that processes took which this one has started: others take nothing of them."""
    took = os.times()
    return took.children_user + took.children_system
