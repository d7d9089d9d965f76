"""Which rooms a change is tested in, on real repositories of git in a folder of their own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.changed import EVERYWHERE, Rooms

ROOT = Path(__file__).parent.parent
FILES = {
    "chalicelib/links/rules.py": "LIMIT = 1",
    "chalicelib/links/flows.py": "from chalicelib.links.rules import LIMIT",
    "chalicelib/links/api.py": "",
    "chalicelib/mail/flows.py": "from chalicelib.links.flows import LIMIT",
    "chalicelib/mail/templates/en.json": "{}",
    "chalicelib/pages/page.js": "",
    "infra/deploy.py": "",
    "docs/api.md": "",
    "tests/conftest.py": "",
    "tests/support/clock.py": "",
    "tests/support/shop.py": "from tests.support import clock",
    "tests/links/test_rules.py": "from chalicelib.links.rules import LIMIT\n\ndef test_limit():\n    assert LIMIT == 1",
    "tests/links/single/test_flows.py": "from tests.support import shop\n\ndef test_flow(): pass",
    "tests/mail/test_flows.py": "READ = 'templates/en.json'\n\ndef test_flow(): pass",
    "tests/mail/purse.py": "",
    "tests/pages/test_page.py": "def test_page(): pass",
    "tests/races/test_links.py": "from chalicelib.links import flows\n\ndef test_races(): pass",
    "tests/deploy/test_deploy.py": "def test_deploy(): pass",
    "tests/docs/test_docs.py": "def test_docs(): pass",
    "tests/test_alone.py": "from tests import changed\n\ndef test_alone(): pass",
    "tests/changed.py": (ROOT / "tests" / "changed.py").read_text(),
}
Write = Callable[[str, str], None]


def git(folder: Path, *arguments: str) -> None:
    person = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project of the same shape, on a branch that begins at main."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")
    for package in ("chalicelib", "infra"):
        for each in [folder / package, *(path for path in (folder / package).rglob("*") if path.is_dir())]:
            (each / "__init__.py").touch()
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    git(folder, "init", "--initial-branch=main")
    commit(folder)
    git(folder, "checkout", "-b", "mine")
    return folder


@pytest.fixture
def checkout(made: Path, tmp_path: Path) -> Path:
    """A copy of it, which a test may change."""
    return shutil.copytree(made, tmp_path / "checkout")


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--message=Change")


def change(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("a") as file:
            file.write("\n")


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `make test CHANGED=1` runs there."""
    variables = {**os.environ, "PYTEST_ADDOPTS": "--import-mode=importlib", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "ROOM": "", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        [sys.executable, "-m", "tests.changed", "-q"], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


def rooms(folder: Path, *changes: list[str]) -> list[set[str]]:
    """The rooms of the files of each change, in a process that knows only the `tests` of that folder, not those of this
    project as well."""
    script = "import json, sys; from pathlib import Path; from tests.changed import Rooms; found = Rooms(Path.cwd()); print(json.dumps([[*found.touched_by(each)] for each in json.loads(sys.argv[1])]))"
    command = [sys.executable, "-c", script, json.dumps(changes)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [set(each) for each in json.loads(done.stdout)]


def test_the_room_of_a_file_and_those_that_import_it_are_run_and_it_is_said_why(checkout: Path) -> None:
    change(checkout, "chalicelib/links/flows.py")
    commit(checkout)
    done = run(checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    explained = done.stdout.splitlines()
    assert explained[0].startswith("3 of 7 rooms are tested")
    assert explained[1:4] == [
        "  links: chalicelib/links/flows.py differs",
        "  mail: chalicelib/mail/flows.py imports chalicelib.links.flows",
        "  races: tests/races/test_links.py imports chalicelib.links.flows",
    ]
    assert "4 passed" in done.stdout


def test_a_test_that_fails_is_the_exit_status(checkout: Path) -> None:
    (checkout / "chalicelib/links/rules.py").write_text("LIMIT = 2\n")
    done = run(checkout)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "test_limit" in done.stdout


@pytest.mark.parametrize("stage", ["not added", "added", "committed"])
def test_what_is_not_committed_counts_as_well(checkout: Path, stage: str) -> None:
    (checkout / "tests/mail/test_new.py").write_text("def test_new(): pass\n")
    if stage != "not added":
        git(checkout, "add", "--all")
    if stage == "committed":
        commit(checkout)
    done = run(checkout)
    assert "1 of 7 rooms" in done.stdout
    assert "  mail: tests/mail/test_new.py differs" in done.stdout
    assert "2 passed" in done.stdout


def test_what_main_has_since_is_no_change_of_this_branch(checkout: Path) -> None:
    git(checkout, "checkout", "main")
    change(checkout, "infra/deploy.py")
    commit(checkout)
    git(checkout, "checkout", "mine")
    change(checkout, "chalicelib/pages/page.js")
    assert "1 of 7 rooms" in run(checkout).stdout


def test_changes_on_main_that_are_not_committed_are_tested(checkout: Path) -> None:
    git(checkout, "checkout", "main")
    change(checkout, "tests/docs/test_docs.py")
    assert "  docs: tests/docs/test_docs.py differs" in run(checkout).stdout


ROOMS_OF: dict[str, set[str]] = {
    "chalicelib/links/rules.py": {"links"},
    "chalicelib/links/api.py": {"links"},
    "tests/links/single/test_flows.py": {"links/single"},
    "tests/support/clock.py": {"links/single"},
    "tests/mail/purse.py": {"mail"},
    "chalicelib/mail/templates/en.json": {"mail"},
    "chalicelib/pages/page.js": {"pages"},
    "infra/deploy.py": {"deploy"},
    "docs/api.md": {"docs"},
    "README.md": {"docs"},
    "tests/conftest.py": {""},
    "tests/changed.py": {"test_alone.py"},
    "tests/test_alone.py": {"test_alone.py"},
    "LICENSE": set(),
}
"""The rooms of a file of each kind."""


def test_each_kind_of_file_has_its_rooms(checkout: Path) -> None:
    found = rooms(checkout, *([file] for file in ROOMS_OF))
    assert dict(zip(ROOMS_OF, found, strict=True)) == ROOMS_OF


def test_data_is_tested_where_its_name_is_read_and_not_where_another_name_ends_alike(checkout: Path) -> None:
    (checkout / "tests/races/test_links.py").write_text("READ = 'en.json'\n")
    (checkout / "tests/docs/test_docs.py").write_text("READ = 'listen.json'\n")
    assert rooms(checkout, ["chalicelib/mail/templates/en.json"]) == [{"mail", "races"}]


def test_every_room_is_run_once(checkout: Path) -> None:
    of_a_room, of_all = ["tests/links/test_rules.py", "tests/links/single/test_flows.py"], ["tests/conftest.py", "tests/mail/purse.py"]
    assert rooms(checkout, of_a_room, of_all) == [{"links"}, {""}]


@pytest.mark.parametrize("file", EVERYWHERE)
def test_what_every_test_needs_exists_here(file: str) -> None:
    assert (ROOT / file).is_file()


def test_rooms_of_this_project_are_found_by_what_they_import() -> None:
    """These imports are as old as the rooms: who moves them changes this test."""
    here = Rooms(ROOT)
    found = here.touched_by(["chalicelib/webhooks/signatures.py", "chalicelib/pages/payment/poll.js"])
    assert {"webhooks", "pages"} <= found.keys()
    assert "base" not in found
    assert "" in here.touched_by(["tests/conftest.py"])


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_without_git_it_says_what_to_do(checkout: Path) -> None:
    assert "no git here: install it, or run `make test`" in refused(run(checkout, PATH=""))


def test_outside_a_checkout_it_says_what_to_do(checkout: Path) -> None:
    (checkout / ".git").rename(checkout / "git")
    environment = {"GIT_CEILING_DIRECTORIES": str(checkout.parent)}
    assert "this folder is none: clone the repository" in refused(run(checkout, **environment))


@pytest.mark.parametrize("branch", ["main", "mine"])
def test_without_a_difference_it_says_what_to_do(checkout: Path, branch: str) -> None:
    git(checkout, "checkout", branch)
    assert "Nothing differs from main: change something first, or run `make test`" in refused(run(checkout))


def test_without_main_it_says_how_to_get_it(checkout: Path) -> None:
    git(checkout, "branch", "--move", "main", "other")
    assert "run `git fetch origin main:main`" in refused(run(checkout))


def test_without_a_common_commit_it_says_what_to_do(checkout: Path) -> None:
    git(checkout, "checkout", "--orphan", "apart")
    change(checkout, "docs/api.md")
    commit(checkout)
    assert "no commit in common: fetch the whole history" in refused(run(checkout))


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_deleted_file_leaves_nobody_to_ask(checkout: Path, is_committed: bool) -> None:
    (checkout / "chalicelib/links/rules.py").unlink()
    if is_committed:
        commit(checkout)
    change(checkout, "infra/deploy.py")
    said = refused(run(checkout))
    assert "chalicelib/links/rules.py is deleted" in said
    assert "run `make test`" in said


def test_of_many_deleted_files_the_first_is_named(checkout: Path) -> None:
    for name in ("chalicelib/links/rules.py", "docs/api.md", "tests/mail/purse.py"):
        (checkout / name).unlink()
    assert "chalicelib/links/rules.py (and 2 more) is deleted" in refused(run(checkout))


def test_a_room_is_not_chosen_twice(checkout: Path) -> None:
    change(checkout, "infra/deploy.py")
    assert "leave out either CHANGED or ROOM" in refused(run(checkout, ROOM="mail"))


def test_what_no_room_tests_is_named(checkout: Path) -> None:
    change(checkout, "LICENSE")
    assert "No room tests what differs (LICENSE): run `make test`" in refused(run(checkout))


@pytest.mark.parametrize(("given", "expected"), [("1", "tests.changed"), ("", "-m pytest")])
def test_make_runs_it(given: str, expected: str) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "test", f"CHANGED={given}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert expected in planned.stdout
