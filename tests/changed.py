"""Runs the tests of the rooms that a change touches: `make test CHANGED=1`.

    python -m tests.changed [option of pytest ...]

A change is what differs from where this branch left `main`, in commits or not yet. Of each file that differs these rooms
are tested: its own, those of the modules that import it, and, if it is no module, those whose tests or modules name it.
A helper of tests counts with all that imports it, directly or not. Views and jobs, which `app.py` imports by their names,
are tested by their own rooms. What every test needs means every room. All of this is for a quick answer while working:
a change is merged once all of `make test` passes.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

BRANCHES = ("main", "origin/main")
PACKAGES = ("chalicelib", "infra", "tests")
EVERYWHERE = ("tests/conftest.py", "tests/requirements.txt", "tests/requirements.lock", "requirements.txt", "pyproject.toml")
"""Files that every test needs."""
ELSEWHERE = {
    "app.py": "platform/http",
    "infra/local": "local",
    "infra/check": "check",
    "infra/documents": "docs",
    "infra": "deploy",
    "docs": "docs",
    ".ci": "docs",
    ".chalice": "deploy",
    "Makefile": "docs",
}
"""The rooms of what `tests/` does not mirror under the same name; the first that fits counts."""
_TEXTS = (".py", ".js")
_BAD_INPUT = 2
Reasons = Mapping[str, list[str]]
"""Why a room is tested, by its name."""


class Refused(Exception):
    """There is nothing to run; the message says what to do."""


def changed_files(folder: Path) -> list[str]:
    """The files that differ from where this branch left main, new ones included. Raises Refused if none can be tested."""
    if shutil.which("git") is None:
        raise Refused("CHANGED=1 asks git what differs from main, and there is no git here: install it, or run `make test`.")
    if _git(folder, "rev-parse", "--is-inside-work-tree") != "true\n":
        raise Refused("CHANGED=1 compares a checkout with main, and this folder is none: clone the repository, or run `make test`.")
    base = next((name for name in BRANCHES if _git(folder, "rev-parse", "--verify", "--quiet", name)), None)
    if base is None:
        raise Refused("There is no branch main to compare with: run `git fetch origin main:main`, or `make test`.")
    left = (_git(folder, "merge-base", base, "HEAD") or "").strip()
    if not left:
        raise Refused(f"This branch and {base} have no commit in common: fetch the whole history, or run `make test`.")
    states = (_git(folder, "diff", "--name-status", "--no-renames", "--relative", "-z", left) or "").split("\0")[:-1]
    found = dict(zip(states[1::2], states[::2], strict=True))
    if deleted := sorted(path for path, state in found.items() if state == "D"):
        more = f" (and {len(deleted) - 1} more)" if len(deleted) > 1 else ""
        raise Refused(f"{deleted[0]}{more} is deleted, and nobody can be asked any more what imported it: run `make test`.")
    new = (_git(folder, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")[:-1]
    if not found and not new:
        raise Refused(f"Nothing differs from {base}: change something first, or run `make test`.")
    return sorted({*found, *new})


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


class Rooms:
    """The folders of `tests/` that hold tests, and which of them each file belongs to."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._graph = folder, _imports(folder)
        tests = folder / "tests"
        self.names = sorted({file.parent.relative_to(tests).as_posix() for file in tests.rglob("test_*.py")} - {"."})
        self._texts = cache(self._read_texts)

    def touched_by(self, files: Iterable[str]) -> Reasons:
        """The rooms to test for these files, each with the reasons. A room below another one that is tested is left out."""
        reasons = defaultdict[str, list[str]](list)
        for file in files:
            for room, why in self._of(file).items():
                reasons[room].append(why)
        if "" in reasons:
            return {"": reasons[""]}
        above = {room: [str(each) for each in PurePosixPath(room).parents] for room in reasons}
        return {room: whys for room, whys in sorted(reasons.items()) if not set(above[room]) & reasons.keys()}

    def _of(self, file: str) -> dict[str, str]:
        """The rooms to test for one file, each with the reason. "" is every room."""
        if file in EVERYWHERE:
            return {"": f"{file} differs, which every test needs"}
        found = dict[str | None, str]()
        for module, importer in self._importers(file):
            found[self._room(self._path(importer))] = f"{self._path(importer)} imports {module}"
        for path in () if file.endswith(".py") else self._naming(file):
            found[self._room(path)] = f"{path} names {file}"
        found[self._room(file)] = f"{file} differs"
        return {room: why for room, why in found.items() if room and self._is_room(room)}

    def _is_room(self, name: str) -> bool:
        return any(each == name or each.startswith(f"{name}/") for each in self.names) or self._is_alone(name)

    def _is_alone(self, name: str) -> bool:
        """Whether it is a file of tests that is in no room, which counts as one."""
        return name.startswith("test_") and (self._folder / "tests" / name).is_file()

    def _room(self, file: str) -> str | None:
        """The room of a file: the folder of a test, and of anything else the folder that mirrors its own, or is nearest."""
        path = PurePosixPath(file)
        top, *rest = path.parts
        if top == "tests" and self._is_alone(path.name) and len(rest) == 1:
            return path.name
        if top in ("chalicelib", "tests"):
            folders = [PurePosixPath(*rest[:-1]), *PurePosixPath(*rest[:-1]).parents] if rest else []
            return next((name for each in folders if (name := str(each)) != "." and self._is_room(name)), None)
        if path.suffix == ".md":
            return "docs"
        return next((room for start, room in ELSEWHERE.items() if path.is_relative_to(start)), None)

    def _importers(self, file: str) -> list[tuple[str, str]]:
        """The modules that import a file, each with what it imports of it: for a helper of tests also what imports those."""
        module = _module(file)
        if not file.endswith(".py") or module not in self._graph.modules:
            return []
        if module.startswith("tests."):
            return [(module, each) for each in sorted(self._graph.find_downstream_modules(module))]
        return [(module, each) for each in sorted(self._graph.find_modules_that_directly_import(module))]

    def _path(self, module: str) -> str:
        path = PurePosixPath(*module.split("."))
        is_package = (self._folder / path).is_dir()
        return str(path / "__init__.py" if is_package else path.with_suffix(".py"))

    def _naming(self, file: str) -> list[str]:
        """The modules and scripts whose text has the name of a file."""
        named = re.compile(rf"(?<![\w.-]){re.escape(PurePosixPath(file).name)}(?!\w)")
        return [path for path, text in self._texts().items() if named.search(text) and path != file]

    def _read_texts(self) -> dict[str, str]:
        tops = (self._folder / name for name in PACKAGES)
        files = sorted(file for top in tops for file in top.rglob("*") if file.suffix in _TEXTS and "node_modules" not in file.parts)
        return {file.relative_to(self._folder).as_posix(): file.read_text() for file in files}


def _module(file: str) -> str:
    path = PurePosixPath(file).with_suffix("")
    return ".".join(path.parts[:-1] if path.name == "__init__" else path.parts)


def _imports(folder: Path) -> Any:
    """Who imports whom, by grimp, which import-linter brings. `app` stands for what app.py is to others."""
    import grimp

    sys.path.insert(0, str(folder))
    packages = [name for name in PACKAGES if (folder / name).is_dir()]
    return grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)


def explain(reasons: Reasons, rooms: int) -> str:
    """The rooms that are tested, a line for each with the first reason and how many more there are."""
    more = {room: f" (and {len(whys) - 1} more)" if len(whys) > 1 else "" for room, whys in reasons.items()}
    if "" in reasons:
        return f"All {rooms} rooms are tested: {reasons[''][0]}{more['']}."
    lines = [f"  {room}: {whys[0]}{more[room]}" for room, whys in reasons.items()]
    return "\n".join([f"{len(reasons)} of {rooms} rooms are tested (see tests/changed.py):", *lines])


def main(folder: Path, options: list[str], room: str, run: Callable[[list[str]], int]) -> int:
    """Explains and runs; the exit status is that of the tests, or 2 if there is nothing to run."""
    try:
        if room:
            raise Refused("CHANGED=1 chooses the rooms itself: leave out either CHANGED or ROOM.")
        files, rooms = changed_files(folder), Rooms(folder)
        reasons = rooms.touched_by(files)
        if not reasons:
            raise Refused(f"No room tests what differs ({', '.join(files)}): run `make test`.")
    except Refused as error:
        print(error, file=sys.stderr)
        return _BAD_INPUT
    print(explain(reasons, len(rooms.names)), flush=True)
    return run([*(f"tests/{name}".rstrip("/") for name in reasons), *options])


def _run(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path.cwd(), sys.argv[1:], os.environ.get("ROOM", ""), _run))
