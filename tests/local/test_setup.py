"""`make setup`: what it says when it cannot go on, and that it does nothing when there is nothing to do."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import setup
from infra.local.setup import find_browser
from tests.local.copies import ROOT, copy_of_the_project, environment
from tests.support.patience import patience

INSTALLED = """
import pathlib, subprocess
class Popen:  # in the place of pip and npm: makes the folder that they would fill
    def __init__(self, command, **options):
        if command[1:3] == ["-m", "venv"]:
            pathlib.Path(command[3], "bin").mkdir(parents=True)
            pathlib.Path(command[3], "bin", "python").touch()
        elif "npm" in command[0]:
            pathlib.Path(options["cwd"], "node_modules").mkdir(exist_ok=True)
    def wait(self):
        return 0
subprocess.Popen, subprocess.run = Popen, lambda *command, **options: subprocess.CompletedProcess(command, 0, b"11.0.0")
"""
LOGGED = """
class Logged(Popen):
    def __init__(self, command, **options):
        open({log!r}, "a").write(" ".join(command) + "\\n")
        super().__init__(command, **options)
subprocess.Popen = Logged
"""
NOTHING_STARTS = "import subprocess; subprocess.Popen = subprocess.run = None"
CLOSED = "http://127.0.0.1:9/"  # the discard port: nothing listens there


def run(folder: Path, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run setup.py of `folder` in a fresh interpreter, after the statements `before`."""
    script = folder / "infra" / "local" / "setup.py"
    code = f"import sys, runpy\n{before}\nrunpy.run_path({str(script)!r}, run_name='__main__')"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment(**variables), timeout=patience(10))


def assert_one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """Status 2 and a single line on standard error, no traceback; returns the line."""
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("setup: ") and line.endswith(".")
    assert "Traceback" not in done.stdout
    return line


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13), (3, 14, 0)])
def test_a_python_that_is_too_old_or_too_new_is_told_so(tmp_path: Path, version: tuple[int, ...]) -> None:
    line = assert_one_sentence(run(copy_of_the_project(tmp_path), before=f"sys.version_info = {version}"))
    assert "Python 3.11, 3.12 or 3.13 is needed" in line
    assert ".".join(map(str, version)) in line


def test_an_old_python_can_read_the_file_that_tells_it_so() -> None:
    ast.parse((ROOT / "infra" / "local" / "setup.py").read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_or_pip_is_told_what_to_install(tmp_path: Path, module: str) -> None:
    hidden = (
        f"import importlib.util as u; found = u.find_spec; u.find_spec = lambda n: n != {module!r} and found(n) or None"
    )
    line = assert_one_sentence(run(copy_of_the_project(tmp_path), before=hidden))
    assert f"module {module}" in line
    assert "apt install" in line


def test_without_a_network_setup_says_so_and_leaves_no_stamp(tmp_path: Path) -> None:
    copy = copy_of_the_project(tmp_path)
    closed = {"PIP_INDEX_URL": CLOSED, "PIP_CONFIG_FILE": "/dev/null", "npm_config_registry": CLOSED}
    line = assert_one_sentence(run(copy, **closed, PIP_RETRIES="0"))
    assert "is there a network?" in line
    assert not list(copy.glob("**/.stamp"))


def test_a_second_setup_does_nothing_and_says_nothing(tmp_path: Path) -> None:
    """In a copy: where the inputs of this tree have changed since its setup, another one would install them."""
    copy = copy_of_the_project(tmp_path)
    first = run(copy, before=INSTALLED, CI="")
    assert first.returncode == 0, first.stderr
    folders = [copy / name for name in (".venv", ".local/cloud-venv", "infra/local/node_modules")]
    made = {folder: (folder / ".stamp").stat().st_mtime_ns for folder in folders}
    second = run(copy, before=NOTHING_STARTS, CI="")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert {folder: (folder / ".stamp").stat().st_mtime_ns for folder in folders} == made


def test_a_setup_after_a_change_installs_what_changed(tmp_path: Path) -> None:
    copy = copy_of_the_project(tmp_path)
    assert run(copy, before=INSTALLED, CI="").returncode == 0
    with (copy / "tests" / "requirements.lock").open("a") as file:
        file.write("more\n")
    again = run(copy, before=INSTALLED, CI="")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines()[0] == "setup: installing the Python packages (.venv)"


def test_setup_compiles_our_contracts_after_their_compiler_is_installed(tmp_path: Path) -> None:
    copy, log = copy_of_the_project(tmp_path), tmp_path / "commands"
    assert run(copy, before=INSTALLED + LOGGED.format(log=str(log)), CI="").returncode == 0
    commands = log.read_text().splitlines()
    (compiling,) = (at for at, command in enumerate(commands) if command.endswith("-m infra.local.compiling"))
    assert compiling > max(at for at, command in enumerate(commands) if "npm ci" in command)


def test_our_contracts_are_compiled_with_the_standard_library_alone(tmp_path: Path) -> None:
    """The Python packages may not be installed yet."""
    copy = copy_of_the_project(tmp_path)
    (copy / "infra" / "local" / "node_modules").symlink_to((ROOT / "infra" / "local" / "node_modules").resolve())
    smallest, *others = sorted((copy / "infra" / "local" / "contracts").glob("*.sol"), key=lambda each: each.stat().st_size)
    for each in others:
        each.unlink()  # what is compiled is not the point here, and takes its time
    command = [sys.executable, "-S", "-m", "infra.local.compiling"]
    subprocess.run(command, cwd=copy, env=environment(), check=True, timeout=patience(5))
    kept = sorted(path.stem for path in (copy / ".local" / "contracts").iterdir())
    assert kept == [smallest.stem]


def test_packages_that_are_linked_from_another_checkout_are_left_as_they_are(tmp_path: Path) -> None:
    """npm empties the folder that it installs into, also through a link."""
    copy, others = copy_of_the_project(tmp_path), tmp_path / "others"
    (others / "package").mkdir(parents=True)
    (others / ".stamp").write_text("{}")
    modules = copy / "infra" / "local" / "node_modules"
    modules.symlink_to(others)
    assert run(copy, before=INSTALLED, CI="").returncode == 0
    assert not modules.is_symlink()
    assert sorted(path.name for path in others.iterdir()) == [".stamp", "package"]


def test_a_browser_is_found_where_the_environment_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "my-browser"
    mine.touch(mode=0o755)
    monkeypatch.setenv("CHROMIUM", str(mine))
    assert find_browser() == str(mine)


@pytest.mark.parametrize(("ci", "is_found", "is_ready"), [("true", False, False), ("true", True, True), ("", False, True)])
def test_only_ci_is_given_a_browser(monkeypatch: pytest.MonkeyPatch, ci: str, is_found: bool, is_ready: bool) -> None:
    monkeypatch.setattr(setup, "find_browser", lambda: "/usr/bin/chromium" if is_found else None)
    monkeypatch.setenv("CI", ci)
    assert setup.Browser("a browser", ".local/browser", []).ready() is is_ready


def test_an_interrupted_setup_counts_as_none(tmp_path: Path) -> None:
    copy = copy_of_the_project(tmp_path)
    part = (
        f"s = runpy.run_path({str(copy / 'infra/local/setup.py')!r})\n"
        "p = s['Part']('x', 'x', ['requirements.txt'])\n"
        "import os; os.mkdir(p.folder); assert not p.ready()\n"
        "p.write_stamp(); assert p.ready()\n"
        "open(os.path.join(s['ROOT'], 'requirements.txt'), 'a').write('more')\n"
        "assert not s['Part']('x', 'x', ['requirements.txt']).ready()"
    )
    subprocess.run([sys.executable, "-c", f"import runpy\n{part}"], check=True, env=environment())
