"""The README is short, and every link, path, command and package that the documents name exists."""

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REHEARSALS
from tests.docs.documents import ALL, DOCS, IDS, README, ROOT, Document, named

README_LINES = 122
PYTHON_LINES = 14


def make_targets() -> list[str]:
    return sorted(
        {target for document in ALL for target in re.findall(r"(?:^|`)make ([a-z-]+)", document.text, re.MULTILINE)}
    )


def test_the_readme_fits_on_two_screens() -> None:
    assert len(README.text.splitlines()) <= README_LINES


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.text.splitlines()[:30])
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_the_python_of_the_readme_is_short() -> None:
    assert [len(block.splitlines()) <= PYTHON_LINES for block in README.blocks("python")] == [True, True]


def test_the_readme_leads_to_every_document() -> None:
    linked = set(re.findall(r"\]\(([^)]+)\)", README.text))
    assert linked == {document.name for document in ALL if document is not README} | {"docs/openapi.json"}


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_link_between_documents_resolves(document: Document) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", document.text):
        assert "://" not in target, "packages and sites are named, not linked"
        assert (document.path.parent / target).exists(), target


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_path_it_names_exists(document: Document) -> None:
    for path in document.code():
        if re.fullmatch(r"(tests|infra|chalicelib|docs|\.chalice)/[\w./-]+|app\.py|requirements\.txt", path):
            assert (ROOT / path).exists(), path


def commands(room: str, *options: str) -> str:
    """What `make test` would run for a room, whatever options the `make` has that these tests are run by."""
    given = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "SEED", "ROOM", "CHANGED")
    environment = {name: value for name, value in os.environ.items() if name not in given}
    command = ["make", "--dry-run", "test", f"ROOM={room}", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment).stdout


def test_the_rehearsal_runs_what_the_tests_leave_out() -> None:
    planned = ["make", "--dry-run", "rehearsal"]
    command = subprocess.run(planned, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files, marked = (each for each in command.splitlines() if "pytest" in each)
    assert "REHEARSAL=1" in marked and "-m rehearsal" in marked
    run = re.findall(r" tests/([\w/.]+)", files)
    assert [each for each in REHEARSALS if not each.startswith(tuple(run))] == []


@pytest.mark.parametrize("room", ["payments", "payments/links/", "payments/links/multicalls", "accounts"])
def test_one_room_can_be_tested_alone(room: str) -> None:
    assert f"pytest tests/{room} " in commands(room)
    assert "There is no room" not in commands(room)


def test_tests_run_in_a_random_order_if_a_seed_is_given() -> None:
    assert " -p randomly --randomly-seed=7\n" in commands("base", "SEED=7")
    assert "randomly" not in commands("base")


def test_an_unknown_room_is_refused_with_those_that_there_are() -> None:
    tests = ROOT / "tests"
    folders = {file.parent.relative_to(tests).as_posix() for file in tests.rglob("test_*.py")} - {"."}
    rooms = sorted({above for folder in folders for above in (folder, *map(str, Path(folder).parents))} - {"."})
    assert f"There is no room 'nowhere'. The rooms are: {' '.join(rooms)}." in commands("nowhere")


@pytest.mark.parametrize("target", make_targets())
def test_every_make_target_exists_and_is_explained(target: str) -> None:
    explained = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"make {target}\b", explained)
    subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, check=True)


def test_each_guarantee_names_its_tests() -> None:
    for guarantee, tests in DOCS["guarantees"].rows("Guarantee", "Tests"):
        assert named(tests), guarantee
        for path in named(tests):
            assert path.startswith("tests/") and (ROOT / path).is_file(), path


def test_the_drawing_has_the_folders_in_the_order_in_which_they_may_import_each_other() -> None:
    (drawing,) = [block for block in DOCS["architecture"].blocks("text") if block.startswith("base ")]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    whole, *parts = [contract for contract in contracts if contract["type"] == "layers" and "data" not in contract["name"]]
    products = [name.removeprefix("chalicelib.") for layer in whole["layers"] for name in layer.split(" | ")]
    drawn = re.findall(r"^[\w/]+", drawing, re.MULTILINE)
    assert [name.replace("/", ".") for name in drawn] == products[::-1]
    folders = {path.parent.name for path in (ROOT / "chalicelib").glob("*/__init__.py")}
    assert folders == {name.partition("/")[0] for name in drawn}
    inside = {name: re.findall(r"^  (\w+)", rest, re.MULTILINE) for name, rest in sections(drawing) if "\n  " in rest}
    for part in parts:
        layers = [layer.strip("()") for layer in part["layers"]]
        for container in part["containers"]:
            names = inside.pop(container.removeprefix("chalicelib.").replace(".", "/"))
            assert names == [layer for layer in layers[::-1] if layer in names]
            assert set(names) >= {path.parent.name for path in package(container).glob("*/__init__.py")}
    assert not {name for name, found in inside.items() if found}


def test_every_folder_with_more_than_one_floor_is_held_to_their_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (floors,) = [each for each in contracts if each["name"] == "in every room data goes down the same floors"]
    names = {name for layer in floors["layers"] for name in re.findall(r"\w+", layer)}
    folders = {path.parent for path in (ROOT / "chalicelib").rglob("__init__.py")}
    found = {folder for folder in folders if len(names & {path.stem for path in folder.glob("*.py")}) > 1}
    assert {".".join(folder.relative_to(ROOT).parts) for folder in found} - set(floors["containers"]) == set()


def sections(drawing: str) -> Iterator[tuple[str, str]]:
    """Each folder of the drawing with the lines about it."""
    for section in re.split(r"\n(?=\w)", drawing):
        yield section.split()[0], section


def package(name: str) -> Path:
    return ROOT.joinpath(*name.split("."))


def test_the_table_of_dependencies_has_every_requirement_and_where_it_is_used() -> None:
    required = re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    rows = DOCS["architecture"].rows("Package", "Used by")
    assert [named(package) for package, _ in rows] == [[name] for name in required]
    assert all(use for _, use in rows)
