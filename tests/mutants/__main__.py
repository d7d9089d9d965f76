"""`make mutants`: makes small changes of the code and lists those that the tests of the same room do not detect.

ROOM=payments/links runs one room, SAMPLE=10 every tenth mutant, MODULE=fees the modules whose path contains this. Fails if less
than 95 % are detected, or if a surviving mutant is not in survivors.toml with the reason why it changes no behaviour.
"""

import json
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.mutants import javascript, runs
from tests.mutants.coverage import Choice, Coverage, observe
from tests.mutants.forks import TooLong, result_of
from tests.mutants.operators import Module
from tests.mutants.rooms import ROOT, Room, rooms

ENOUGH = 0.95
LISTED: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text())


@dataclass
class Report:
    """The results: detected and listed mutants counted by module; the surviving ones; those ended by a timeout."""

    found: Counter[str] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    alive: list[Any] = field(default_factory=list)
    slow: list[Any] = field(default_factory=list)
    found_though_listed: list[Any] = field(default_factory=list)  # listed in survivors.toml, but detected

    def add(self, mutant: Any, result: Any) -> None:
        listed = mutant.key in LISTED.get(_relative(mutant.path), {})
        if result == "" and listed:
            self.listed[_relative(mutant.path)] += 1
        elif result == "":
            self.alive.append(mutant)
            print(f"  {_relative(mutant.path)}:{mutant.line}: {mutant.key}", flush=True)
        else:
            if isinstance(result, Exception) and not isinstance(result, TooLong):
                raise result
            self.found[_relative(mutant.path)] += 1
            if isinstance(result, TooLong):
                self.slow.append(mutant)
            if listed:
                self.found_though_listed.append(mutant)

    def table(self) -> Iterator[str]:
        alive = Counter(_relative(mutant.path) for mutant in self.alive)
        yield f"{'module':45} {'mutants':>8} {'found':>7} {'listed':>7} {'alive':>6}"
        for path in sorted({*self.found, *self.listed, *alive}):
            yield self._row(path, self.found[path], self.listed[path], alive[path])
        yield self._row("all", self.found.total(), self.listed.total(), alive.total())

    def _row(self, name: str, found: int, listed: int, alive: int) -> str:
        every = found + listed + alive
        return f"{name:45} {every:8} {found / every:7.1%} {listed:7} {alive:6}"

    @property
    def share(self) -> float:
        every = self.found.total() + self.listed.total() + len(self.alive)
        return self.found.total() / every if every else 1.0


def main() -> int:
    report, started, every = Report(), time.monotonic(), list[Any]()
    sample, part = int(os.environ.get("SAMPLE") or 1), os.environ.get("MODULE", "")
    for room in rooms(os.environ.get("ROOM") or None):
        targets = [path for path in room.targets if part in _relative(str(path))]
        mutants = [each for path in targets for each in mutants_of(path)][::sample]
        every += mutants
        if mutants:
            print(f"{room.name}: {len(mutants)} mutants", flush=True)
            _run(room, mutants, report)
    print("\n".join(report.table()))
    for mutant in report.slow:
        print(f"found by its timeout: {_relative(mutant.path)}:{mutant.line}: {mutant.key}")
    unknown = unknown_entries(every) if sample == 1 else []
    unknown += [
        f"survivors.toml lists what a test finds: {_relative(each.path)}: {each.key}" for each in report.found_though_listed
    ]
    print(*unknown, sep="\n", end="\n" if unknown else "")
    print(f"{report.share:.1%} found in {time.monotonic() - started:.0f} s; {len(report.alive)} alive without a reason")
    return 1 if report.alive or unknown or report.share < ENOUGH else 0


def _run(room: Room, mutants: Sequence[Any], report: Report) -> None:
    coverage: Coverage = result_of(partial(observe, room.tests, room.targets))
    for file, count in Counter(name.split("::")[0] for name in coverage.failed).items():
        print(f"  left out, as they do not pass without mutants: {count} tests of {file}")
    for name in coverage.modules:
        with suppress(Exception):  # a module that cannot be imported here fails in the tests
            import_module(name)
    choice = Choice(coverage, _sources(), {key for entries in LISTED.values() for key in entries})
    at_import = [each for each in mutants if not _is_exchangeable(each, coverage)]
    running = [each for each in mutants if each not in at_import]
    outcome = result_of(partial(runs.collected, room.tests, partial(runs.exchanged, running, choice))) if running else []
    at_import += [running[index] for index, result in outcome if isinstance(result, ValueError)]
    for index, result in outcome:
        if not isinstance(result, ValueError):
            report.add(running[index], result)
    for index, result in runs.imported(at_import, choice):
        report.add(at_import[index], result)


def _is_exchangeable(mutant: Any, coverage: Coverage) -> bool:
    """Returns whether only running tests execute the mutant, not imports of modules or tests."""
    if isinstance(mutant, javascript.TextMutant):
        return True
    return mutant.statement > 0 and (mutant.path, mutant.statement) not in coverage.at_import


def mutants_of(path: Path) -> list[Any]:
    return list(javascript.mutants(path)) if path.suffix == ".js" else Module(path).mutants


def _sources() -> dict[str, list[str]]:
    return {str(path): path.read_text().splitlines() for path in (ROOT / "chalicelib").rglob("*.py")}


def _relative(path: str) -> str:
    return Path(path).relative_to(ROOT / "chalicelib").as_posix()


def unknown_entries(mutants: Sequence[Any]) -> list[str]:
    """Returns a message for each entry of survivors.toml that is not a mutant of the mutated modules."""
    keys: dict[str, set[str]] = {}
    for mutant in mutants:
        keys.setdefault(_relative(mutant.path), set()).add(mutant.key)
    return [
        f"survivors.toml names what is not a mutant: {path}: {json.dumps(key)}"
        for path, known in keys.items()
        for key in LISTED.get(path, {}).keys() - known
    ]


if __name__ == "__main__":
    sys.exit(main())
